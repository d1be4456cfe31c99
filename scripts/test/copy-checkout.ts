import { mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../testbed/run-command.ts';
import { makeTemporaryDirectory } from '../testbed/temporary-directory.ts';

const root = path.join(import.meta.dirname, '../..');

/** Copies the last commit with its packages, so that programs can be changed there. */
export async function copyCheckout() {
  const temporary = await makeTemporaryDirectory('checkout-');
  const directory = path.join(temporary.path, 'project');
  await runCommand('git', ['clone', '--quiet', '--shared', root, directory]);
  // Also if it is a link.
  const packages = `${path.join(root, 'node_modules')}/.`;
  const copied = path.join(directory, 'node_modules');
  await mkdir(copied);
  // Links don't reach another file system.
  await runCommand('cp', ['-al', packages, copied]).catch(() => runCommand('cp', ['-a', packages, copied]));
  // Links to the files of this checkout, which the copy would overwrite.
  await rm(path.join(copied, '.cache'), { recursive: true, force: true });
  return { directory, remove: () => temporary.remove() };
}
