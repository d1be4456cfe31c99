import { readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import { CLONE_VOLUME, onVolume } from '../../shared/io/volume-error.ts';
import { GIT_LIMITS } from './git-limits.ts';
import { OFFLINE_PROMISOR } from './promisor.ts';

/** Left behind by a git that was killed: locks, and packs and objects that were not complete. */
const leftover = /\.lock$|^tmp_|^incoming-|^\.tmp-/;

/** Removes what a killed git left in a repository; nobody else may be using it. */
export async function healClone(gitDir: string): Promise<void> {
  await onVolume(CLONE_VOLUME, async () => {
    for (const folder of ['.', 'refs', 'objects', 'objects/pack']) {
      await removeLeftovers(join(gitDir, folder), folder === 'refs');
    }
  });
}

async function removeLeftovers(folder: string, recursive: boolean): Promise<void> {
  const entries = await readdir(folder, { recursive, withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (leftover.test(entry.name)) await rm(join(entry.parentPath, entry.name), { recursive: true, force: true });
  }
}

/** Removes all of git's own from a folder that may be a mount point; what else the agent keeps there stays. */
export async function emptyFolder(folder: string): Promise<void> {
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.startsWith('sync-agent-'));
  const removed = names.map((name) => rm(join(folder, name), { recursive: true, force: true }));
  await onVolume(CLONE_VOLUME, () => Promise.all(removed));
}

/** So many packs, one of each fetch, are merged into one. */
const MAX_PACKS = 30;
const TIMEOUT_MS = 300_000;
/** Of the ids of all objects, which are there twice for a moment; with more of them than that, packs stay as they are. */
const MAX_IDS_BYTES = GIT_LIMITS.memoryBytes / 8;
const SMALL = ['core.bigFileThreshold=1m', 'pack.threads=1', 'pack.windowMemory=16m'].flatMap((setting) => [
  '-c',
  setting,
]);

interface TidyOptions {
  isPartial: boolean;
  /** Ends the git command under way; what it leaves is removed before the next fetch. */
  signal: AbortSignal | undefined;
}

/** Merges the packs of many fetches and drops what no longer belongs to what is kept; copies are dropped at once. */
export async function tidyClone(
  git: Git,
  gitDir: string,
  options: TidyOptions & { hasCopies: boolean },
): Promise<void> {
  if (options.hasCopies) return void (await compactClone(git, gitDir, options));
  const folder = join(gitDir, 'objects/pack');
  const names = await readdir(folder);
  if (names.filter((name) => name.endsWith('.pack')).length < MAX_PACKS) return;
  const run = runnerOf(git, gitDir, options);
  if (options.isPartial) {
    // git-repack(1) never drops what came from a host that leaves things out.
    await repack(folder, names, { run, objects: await run(NEEDED), isPartial: true });
  } else {
    await run(['repack', '-a', '-d', '-q']);
  }
  await run(['prune', '--expire=now']);
}

/**
 * Drops what no longer belongs to what is kept, and gives how many bytes that were. It does so pack by pack, the oldest
 * first, and so gets by with little room: what is still needed of one is written before the rest of it goes.
 */
export async function compactClone(git: Git, gitDir: string, options: TidyOptions): Promise<number> {
  const folder = join(gitDir, 'objects/pack');
  const run = runnerOf(git, gitDir, options);
  const packs = await packsIn(folder);
  const needed = Number((await run([...NEEDED, '--disk-usage'])).toString('latin1'));
  const needless = sum(packs) - needed;
  if (needless < WORTHWHILE * sum(packs)) return 0;
  const objects = await run(NEEDED);
  if (options.isPartial) await markPacks(folder);
  for (const { name } of packs) {
    const others = (await packsIn(folder))
      .filter((pack) => pack.name !== name)
      .map((pack) => `--keep-pack=${pack.name}`);
    const names = (await readdir(folder)).filter((file) => file.startsWith(name.replace(/pack$/, '')));
    await repack(folder, names, { run, objects, isPartial: options.isPartial, flags: others }).catch(async (error) => {
      options.signal?.throwIfAborted();
      if (!isNoSpace(error)) throw error;
      await healClone(gitDir); // this one has to stay: the next one may need less room
    });
    if (sum(packs) - sum(await packsIn(folder)) >= ENOUGH * needless) break;
  }
  await run(['prune', '--expire=now']);
  return sum(packs) - sum(await packsIn(folder));
}

const NEEDED = ['rev-list', '--objects', '--no-object-names', '--missing=allow-promisor', '--all'];
/** Less than this share of what is there is not worth the work; with this share of what is needless, the rest is not. */
const WORTHWHILE = 0.01;
const ENOUGH = 0.9;

type Run = (args: string[], input?: Buffer) => Promise<Buffer>;

function runnerOf(git: Git, gitDir: string, { signal }: TidyOptions): Run {
  return (args, input) =>
    git.run([...SMALL, ...OFFLINE_PROMISOR, `--git-dir=${gitDir}`, ...args], {
      timeoutMs: TIMEOUT_MS,
      signal,
      maxOutputBytes: MAX_IDS_BYTES,
      ...(input && { input }),
    });
}

interface Repacking extends Pick<TidyOptions, 'isPartial'> {
  run: Run;
  /** Ids, one a line. */
  objects: Buffer;
  flags?: string[];
}

/** Writes objects to a pack, unless there are none, and removes the files of packs that it takes the place of. */
async function repack(
  folder: string,
  old: string[],
  { run, objects, isPartial, flags = [] }: Repacking,
): Promise<void> {
  const args = ['pack-objects', '--quiet', '--non-empty', ...flags, join(folder, 'pack')];
  const id = (await run(args, objects)).toString('latin1').trim();
  await onVolume(CLONE_VOLUME, async () => {
    if (id && isPartial) await writeFile(join(folder, `pack-${id}.promisor`), '');
    const others = old.filter((name) => !id || !name.startsWith(`pack-${id}.`));
    await Promise.all(others.map((name) => rm(join(folder, name), { force: true })));
  });
}

/**
 * Marks all packs as those of a host that leaves things out: what is missing has to be named by such a one. A kill that
 * comes right after one was written leaves it without the mark, next to that which it takes the place of.
 */
async function markPacks(folder: string): Promise<void> {
  const names = await readdir(folder);
  const marks = names.filter((name) => name.endsWith('.pack')).map((name) => name.replace(/pack$/, 'promisor'));
  const absent = marks.filter((name) => !names.includes(name));
  await onVolume(CLONE_VOLUME, () => Promise.all(absent.map((name) => writeFile(join(folder, name), ''))));
}

interface Pack {
  name: string;
  bytes: number;
  changedMs: number;
}

/** The packs of a repository, the oldest first. */
async function packsIn(folder: string): Promise<Pack[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.pack'));
  const packs = names.map(async (name) => {
    const { size, mtimeMs } = await stat(join(folder, name));
    return { name, bytes: size, changedMs: mtimeMs };
  });
  return (await Promise.all(packs)).sort((a, b) => a.changedMs - b.changedMs);
}

const sum = (packs: readonly Pack[]): number => packs.reduce((all, { bytes }) => all + bytes, 0);

/** By git or by the agent itself. */
const isNoSpace = (error: unknown): boolean =>
  (error instanceof TerminalError && error.code === 'git.noSpace') ||
  (error instanceof TransientError && ['volume.ENOSPC', 'volume.EDQUOT'].includes(error.code));
