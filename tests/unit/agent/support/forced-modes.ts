import fs from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { READ_FLAGS } from '../../../../agent/disk/read-text.ts';
import { runCommand } from '../../../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../../../scripts/testbed/temporary-directory.ts';
import { codedError } from '../../../support/coded-error.ts';
import { mockCalls } from './mock-calls.ts';

/** Plays a volume on which all files are executable, and a change of modes is ignored, or fails with a code. */
export function playForcedModes(t: TestContext, code?: string): () => void {
  return mockCalls(t, ['lstatSync', 'fstatSync', 'fchmodSync'], (name, args, real) => {
    if (name === 'fchmodSync') {
      if (code) throw codedError(code);
      return undefined;
    }
    const stats = real(...args) as { mode: number | bigint } | undefined;
    if (typeof stats?.mode === 'number') stats.mode |= 0o777;
    return stats;
  });
}

/** Plays a volume that keeps no other bit than the executable one, as some network file systems do. */
export function playExecutableBit(t: TestContext): () => void {
  return mockCalls(t, ['lstatSync', 'fstatSync'], (_, args, real) => {
    const stats = real(...args) as { mode: number | bigint; isFile(): boolean } | undefined;
    if (typeof stats?.mode === 'number' && stats.isFile()) stats.mode = (stats.mode & ~0o7677) | 0o666;
    return stats;
  });
}

/** Simulates an agent without the permission of root to read every file: its owner must have it. */
export function playUnreadable(t: TestContext): () => void {
  return mockCalls(t, ['openSync'], (_, args, real) => {
    const [file, flags] = args as Parameters<typeof fs.openSync>;
    const stats = flags === READ_FLAGS ? fs.lstatSync(file, { throwIfNoEntry: false }) : undefined;
    if (stats?.isFile() && (stats.mode & 0o400) === 0) throw codedError('EACCES');
    return real(...args);
  });
}

/** Mounts a FUSE file system with commands for an empty source and target directory; undefined if this machine can't. */
export async function mountFuse(
  t: TestContext,
  mount: (source: string, target: string) => string[][],
): Promise<string | undefined> {
  const { path: directory, remove } = await makeTemporaryDirectory('fuse-');
  const source = path.join(directory, 'source');
  const target = path.join(directory, 'target');
  t.after(async () => {
    await runCommand('fusermount', ['-uz', target]).catch(() => {}); // it was not mounted
    await remove();
  });
  await mkdir(source);
  await mkdir(target);
  try {
    for (const [command = '', ...args] of mount(source, target)) await runCommand(command, args);
  } catch {
    t.skip('this machine lacks the file system, or allows no mounts');
    return undefined;
  }
  return target;
}
