import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Problem } from '../client/problem.ts';

/** Creates an empty directory for files. Throws `Problem` if it has content, which could be mixed up with them. */
export async function createTree(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true });
  const [entry] = await readdir(directory);
  if (entry !== undefined) throw new Problem(`${directory} isn't empty: specify a new directory for --output`);
}

/** Writes a file at a path that the plan has checked, with the agent's mode. */
export async function writeTreeFile(path: string, content: Buffer, { executable }: { executable: boolean }) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  await chmod(path, executable ? 0o755 : 0o644);
}
