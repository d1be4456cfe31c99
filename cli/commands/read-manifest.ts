import { readFile } from 'node:fs/promises';
import { messageOf } from '../../shared/errors.ts';
import { EXIT, Problem } from '../client/problem.ts';
import type { Host } from '../terminal/host.ts';

/** Reads a file, or stdin if its name is `-`. Throws `Problem`. */
export async function readManifest(file: string, { input }: Host): Promise<string> {
  try {
    if (file !== '-') return await readFile(file, 'utf8');
    if (input) return await input();
  } catch (error) {
    throw new Problem(`cannot read the manifest: ${messageOf(error)}`, EXIT.failed, { cause: error });
  }
  throw new Problem('stdin is not available: specify a file', EXIT.usage);
}
