import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A folder that does not outlive us. */
export interface TemporaryFolder {
  path: string;
  remove(): Promise<void>;
}

/** Removes the folder when its stdin is closed; tries again while processes that die with us still write. */
const guard = 'read -r _; for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" && exit; sleep 0.2; done';

let root: Promise<string> | undefined;

/** Makes a temporary folder that is removed as soon as we are gone, however we end. */
export async function makeTemporaryFolder(prefix: string): Promise<TemporaryFolder> {
  root ??= makeRoot();
  const folder = await mkdtemp(path.join(await root, prefix));
  return { path: folder, remove: () => rm(folder, { recursive: true, force: true, maxRetries: 5 }) };
}

/** The one folder of this process that all others are in: a guard for each would copy the page tables of this process. */
async function makeRoot(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'stoker-'));
  const child = spawn('/bin/sh', ['-c', guard, 'sh', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  child.unref();
  (child.stdin as Socket).unref();
  child.stdin.on('error', () => {});
  // Who may enter a folder is up to that folder.
  await chmod(folder, 0o711);
  return folder;
}
