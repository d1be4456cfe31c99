import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Program } from './programs.ts';

const dockerfile = path.join(import.meta.dirname, '../../Dockerfile');

/** Reads the entry point of a program's image from the Dockerfile, where the flags of Node stand once. */
export async function readEntryPoint(program: Program): Promise<string[]> {
  const stages = (await readFile(dockerfile, 'utf8')).split(/^FROM /m);
  const stage = stages.find((text) => text.split('\n', 1)[0]?.endsWith(` AS ${program}`));
  const entryPoint = stage && /^ENTRYPOINT (\[.*\])$/m.exec(stage)?.[1];
  if (!entryPoint) throw new Error(`The Dockerfile has no entry point for ${program}.`);
  return JSON.parse(entryPoint) as string[];
}
