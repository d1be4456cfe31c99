import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { LIMIT_KB } from '../testbed/memory-limit.ts';
import type { Program } from './programs.ts';

const dockerfile = path.join(import.meta.dirname, '../../Dockerfile');

/** Reads the entry point of a program's image from the Dockerfile, the only place for the flags of Node. */
export async function readEntryPoint(program: Program): Promise<string[]> {
  const stages = (await readFile(dockerfile, 'utf8')).split(/^FROM /m);
  const stage = stages.find((text) => text.split('\n', 1)[0]?.endsWith(` AS ${program}`));
  const entryPoint = stage && /^ENTRYPOINT (\[.*\])$/m.exec(stage)?.[1];
  if (!entryPoint) throw new Error(`The Dockerfile has no entry point for ${program}.`);
  return JSON.parse(entryPoint) as string[];
}

/**
 * Returns the flags of Node in a program's image, for runs outside of a container: percentages of the container's memory
 * are replaced by their values for the chart's limit.
 */
export async function readNodeFlags(program: Program): Promise<string[]> {
  const entryPoint = await readEntryPoint(program);
  const flags = entryPoint.slice(entryPoint.indexOf('node')).filter((argument) => argument.startsWith('--'));
  return flags.map((flag) =>
    flag.replace(/^--max-old-space-size-percentage=(\d+)$/, (_, percentage) => {
      return `--max-old-space-size=${Math.floor((Number(percentage) * (LIMIT_KB / 1024)) / 100)}`;
    }),
  );
}
