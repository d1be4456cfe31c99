import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { modeOf } from '../../agent/plan/file-mode.ts';
import type { DesiredFile } from '../../agent/plan/plan-input.ts';
import { Problem } from '../client/problem.ts';

/** Creates an empty directory for files. Throws `Problem` if it has content, which could be mixed up with them. */
export async function createTree(directory: string): Promise<void> {
  await makeDirectory(directory);
  const [entry] = await readdir(directory);
  if (entry !== undefined)
    throw new Problem(`${directory} isn't empty: specify a new directory for --output`, 'FileUnusable');
}

type FileMode = Pick<DesiredFile, 'executable' | 'mode' | 'linkText'>;

/** Returns the mode that an agent gives a file without groupWrite. */
export const deliveredMode = (file: FileMode): number => modeOf(file, false);

/** Writes a file at a path that the plan has checked, with the mode that an agent gives it. */
export async function writeTreeFile(path: string, content: Buffer, file: FileMode): Promise<void> {
  await makeDirectory(dirname(path));
  if (file.linkText !== undefined) return await symlink(file.linkText, path);
  const mode = deliveredMode(file);
  await writeFile(path, content, { mode });
  await chmod(path, mode);
}

/** Creates a directory and those above it, with the usual mode whatever the umask is: other users read the tree. */
async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first === undefined) return;
  const shortest = resolve(first).length;
  for (let each = resolve(path); each.length >= shortest; each = dirname(each)) await chmod(each, 0o755);
}
