import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'yaml';
import { blocksOf } from '../support/markdown.ts';

/** A server as the docs describe it. */
export interface DocumentedServer {
  /** The first block of code. */
  configuration: string;
  gateway: { reload: { signal: { name: string; process: string } }; verify: { requests: { path: string }[] } };
}

const page = path.join(import.meta.dirname, '../../docs/how-to/reload-by-signal.md');

/** Reads the section of a server in the how-to guide. */
export function documentedServer(heading: string): DocumentedServer {
  const [, after = ''] = readFileSync(page, 'utf8').split(`\n### ${heading}\n`);
  const [text = ''] = after.split(/^##/m);
  const blocks = blocksOf({ file: page, text });
  const spec = blocks.find(({ code }) => code.startsWith('spec:'));
  assert.ok(blocks[0] && spec, `${heading} has no configuration or no settings`);
  return { configuration: blocks[0].code, gateway: parse(spec.code).spec.gateway };
}
