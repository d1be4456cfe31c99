import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { JsonEdit } from '../../shared/domain/json-edits.ts';
import type { RenderedPatch } from '../../shared/domain/render-patch.ts';
import { patchJson } from './patch-json.ts';

/** What is done to the content of one file. */
export interface FilePatches {
  /** The edits of each patch, in the order of the patches. */
  steps: JsonEdit[][];
  /** Tells whether a file went through exactly these. */
  hash: string;
}

/** The patches that are meant for a file, named relative to the mapping's source; undefined where there is none. */
export function patchesFor(patches: RenderedPatch[], file: string): FilePatches | undefined {
  const steps = patches.filter(({ matches }) => matches(file)).map(({ edits }) => edits);
  if (steps.length === 0) return undefined;
  const sorted = steps.map((edits) => edits.map(({ path, json }) => JSON.stringify([path, json])).sort());
  return { steps, hash: createHash('sha256').update(JSON.stringify(sorted)).digest('hex') };
}

/** Carries the patches out, one after the other. Content that is no UTF-8 is a problem, as RFC 8259 has it. */
export function applyPatches(
  content: Buffer,
  { steps }: FilePatches,
): { kind: 'content'; content: Buffer } | { kind: 'problem'; message: string } {
  if (!isUtf8(content)) return { kind: 'problem', message: 'cannot be patched: it is no UTF-8' };
  let text = content.toString('utf8');
  for (const edits of steps) {
    const result = patchJson(text, edits);
    if (result.kind === 'problem') return { kind: 'problem', message: `cannot be patched: it ${result.message}` };
    text = result.text;
  }
  return { kind: 'content', content: Buffer.from(text) };
}
