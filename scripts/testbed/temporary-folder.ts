import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A folder that does not outlive us. */
export interface TemporaryFolder {
  path: string;
  remove(): Promise<void>;
}

/** Removes the folder when its stdin is closed without a word; tries again while processes that die with us still write. */
const guard = 'read -r _ && exit; for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" && exit; sleep 0.2; done';

/** Makes a temporary folder that is removed as soon as we are gone, however we end. */
export async function makeTemporaryFolder(prefix: string): Promise<TemporaryFolder> {
  const folder = await mkdtemp(path.join(tmpdir(), prefix));
  const child = spawn('/bin/sh', ['-c', guard, 'sh', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  (child.stdin as Socket).unref();
  child.stdin.on('error', () => {});
  return {
    path: folder,
    remove: async () => {
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
      child.stdin.end('removed\n');
    },
  };
}
