import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Git } from '../../shared/io/git/git.ts';
import { CLONE_VOLUME, onVolume } from '../disk/volume-error.ts';
import { GIT_LIMITS } from './git-limits.ts';
import { OFFLINE_PROMISOR } from './promisor.ts';

/** Leftovers of a killed git: locks, and incomplete packs and objects. */
const leftover = /\.lock$|^tmp_|^incoming-|^\.tmp-/;

/** Removes leftovers of a killed git in a repository, which no other process must be using. */
export async function healClone(gitDir: string): Promise<void> {
  await onVolume(CLONE_VOLUME, async () => {
    for (const directory of ['.', 'refs', 'objects', 'objects/pack']) {
      await removeLeftovers(join(gitDir, directory), directory === 'refs');
    }
  });
}

async function removeLeftovers(directory: string, recursive: boolean): Promise<void> {
  const entries = await readdir(directory, { recursive, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (leftover.test(entry.name)) await rm(join(entry.parentPath, entry.name), { recursive: true, force: true });
  }
}

/** Removes all files of git from a directory that can be a mount point; other files of the agent remain. */
export async function emptyDirectory(directory: string): Promise<void> {
  const names = (await readdir(directory).catch(() => [])).filter((name) => !name.startsWith('sync-agent-'));
  const removed = names.map((name) => rm(join(directory, name), { recursive: true, force: true }));
  await onVolume(CLONE_VOLUME, () => Promise.all(removed));
}

/** Number of packs (one per fetch) at which all are merged into one. */
const MAX_PACKS = 30;
const TIMEOUT_MS = 300_000;
/** Maximum size of the IDs of all objects, which are briefly in memory twice; above it, packs aren't merged. */
const MAX_IDS_BYTES = GIT_LIMITS.memoryBytes / 8;
const SMALL = ['core.bigFileThreshold=1m', 'pack.threads=1', 'pack.windowMemory=16m'].flatMap((setting) => [
  '-c',
  setting,
]);

interface TidyOptions {
  isPartial: boolean;
  /** Ends the running git command; its leftovers are removed before the next fetch. */
  signal: AbortSignal | undefined;
}

/** Merges the packs of many fetches and drops unneeded objects. */
export async function tidyClone(git: Git, gitDir: string, { isPartial, signal }: TidyOptions): Promise<void> {
  const directory = join(gitDir, 'objects/pack');
  const names = await readdir(directory);
  if (names.filter((name) => name.endsWith('.pack')).length < MAX_PACKS) return;
  const run = (args: string[], input?: Buffer) =>
    git.run([...SMALL, ...OFFLINE_PROMISOR, `--git-dir=${gitDir}`, ...args], {
      timeoutMs: TIMEOUT_MS,
      signal,
      maxOutputBytes: MAX_IDS_BYTES,
      input,
    });
  if (isPartial) await repackPartial(directory, names, run);
  else await run(['repack', '-a', '-d', '-q']);
  await run(['prune', '--expire=now']);
}

type Run = (args: string[], input?: Buffer) => Promise<Buffer>;

/** Replaces packs with one that contains only needed objects: git-repack(1) never drops objects of a partial clone. */
async function repackPartial(directory: string, old: string[], run: Run): Promise<void> {
  const list = ['rev-list', '--objects', '--no-object-names', '--missing=allow-promisor', '--all'];
  const args = ['pack-objects', '--quiet', '--non-empty', join(directory, 'pack')];
  const id = (await run(args, await run(list))).toString('latin1').trim();
  await onVolume(CLONE_VOLUME, async () => {
    if (id) await writeFile(join(directory, `pack-${id}.promisor`), '');
    const others = old.filter((name) => !id || !name.startsWith(`pack-${id}.`));
    await Promise.all(others.map((name) => rm(join(directory, name), { force: true })));
  });
}
