import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A directory that doesn't outlive us. */
export interface TemporaryDirectory {
  path: string;
  remove(): Promise<void>;
}

/** Removes the directory when its stdin is closed; retries while processes that end with us still write. */
const guard = 'read -r _; for i in 1 2 3 4 5 6 7 8 9 10; do rm -rf "$1" && exit; sleep 0.2; done';

/** The directory of this process in each place, with all others in it: a guard for each would copy its page tables. */
const roots = new Map<string, Promise<string>>();

/**
 * Creates a temporary directory that is removed as soon as we end, for any reason. `onDisk`: on disk even if the others
 * are in memory, for tests that depend on the file system or measure memory.
 */
export async function makeTemporaryDirectory(prefix: string, { onDisk = false } = {}): Promise<TemporaryDirectory> {
  const place = (onDisk && process.env.DISK_TMPDIR) || tmpdir();
  const root = roots.get(place) ?? makeRoot(place);
  roots.set(place, root);
  const directory = await mkdtemp(path.join(await root, prefix));
  return { path: directory, remove: () => rm(directory, { recursive: true, force: true, maxRetries: 5 }) };
}

async function makeRoot(place: string): Promise<string> {
  const directory = await mkdtemp(path.join(place, 'stoker-'));
  const child = spawn('/bin/sh', ['-c', guard, 'sh', directory], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  child.unref();
  (child.stdin as Socket).unref();
  child.stdin.on('error', () => {});
  // Access is controlled by the directories in it.
  await chmod(directory, 0o711);
  return directory;
}
