import { rm } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../testbed/run-command.ts';
import { makeTemporaryDirectory } from '../testbed/temporary-directory.ts';

const root = path.join(import.meta.dirname, '../..');

/** A copy of the last commit with its packages, in which programs can be changed. */
export interface Checkout {
  directory: string;
  remove(): Promise<void>;
}

/** Copies the last commit. */
export async function copyCheckout(): Promise<Checkout> {
  const temporary = await makeTemporaryDirectory('checkout-');
  const directory = path.join(temporary.path, 'project');
  await runCommand('git', ['clone', '--quiet', '--shared', root, directory]);
  await runCommand('cp', ['-al', path.join(root, 'node_modules'), directory]);
  // Links to the files of this checkout, which the copy would overwrite.
  await rm(path.join(directory, 'node_modules/.cache'), { recursive: true, force: true });
  return { directory, remove: () => temporary.remove() };
}
