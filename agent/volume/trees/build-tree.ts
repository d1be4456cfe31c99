import { linkSync, lstatSync, type Stats, unlinkSync } from 'node:fs';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { codeOf } from '../../../shared/errors.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import { changed } from '../../disk/changed.ts';
import { HeldDirectory } from '../../disk/held-directory.ts';
import { tryLink } from '../../disk/put-new.ts';
import { statOf } from '../../disk/seen-file.ts';
import { allDirectories } from '../../plan/directories.ts';
import { isSameFingerprint, type OwnedFile } from '../../plan/manifest.ts';
import type { Publication } from '../../plan/publication.ts';
import { rootOf } from '../../plan/trees.ts';
import { hasRecordedMode, isSameKind } from '../scan/scan-tree.ts';
import type { DataRoot } from '../state/data-root.ts';
import { takeSpare, trimTree } from './spare-tree.ts';

/** Permissions of directories in a tree: otherwise, programs that write next to what they read would write into it. */
export const READ_ONLY = 0o555;

/** The agent's directory for trees that aren't complete. */
export const BUILDING = 'building';

/** A tree to be built, with its name in `building`. */
export interface NewTree extends Publication {
  name: string;
  /** Unchanged files, which are linked from where they are. */
  linked: OwnedFile[];
  /** Files that are linked from the staging directory, by their numbers. */
  staged: Map<string, number>;
}

export interface BuildOptions {
  root: DataRoot;
  /** Records of the staged files, in the order of the plan. */
  staged: readonly OwnedFile[];
  /** Files that are no longer mapped but stay, even if they were changed. */
  retained: ReadonlySet<string>;
  /** Permissions of directories in the volume itself. */
  permissions: number;
  signal?: AbortSignal;
}

/** Returns the directories in a tree, the outer ones first, by their paths in the data volume. */
export function directoriesIn({ path, linked, staged }: NewTree): string[] {
  const all = allDirectories([...linked.map((file) => file.path), ...staged.keys()]);
  return [...all].filter((directory) => rootOf(directory, [path]) !== undefined);
}

/**
 * Builds a tree from hard links, and returns the paths of unchanged files that it can't link. Starts with the spare of
 * the previous tree, if there is one.
 */
export async function buildTree(tree: NewTree, options: BuildOptions): Promise<string[]> {
  const { root, staged, permissions } = options;
  using building = root.openAgentDirectory(BUILDING);
  const isPrepared = tree.from.kind === 'link' && takeSpare(building, tree.from.tree, tree.name);
  if (!isPrepared) building.make(tree.name);
  using top = building.open(tree.name);
  top.permit(permissions);
  const inside = (path: string) => path.slice(tree.path.length + 1);
  const directories = directoriesIn(tree).map(inside);
  if (isPrepared) {
    const files = new Set(tree.linked.map(({ path }) => inside(path)));
    await trimTree(top, { files, directories: new Set(directories) });
  }
  using target = new HeldDirectory((path) => top.openBelow(path));
  for (const path of directories) {
    const [parent, name] = splitPath(path);
    target.at(parent).make(name);
  }
  const targetOf = (path: string) => {
    const [parent, name] = splitPath(inside(path));
    return target.at(parent).at(name);
  };
  const unlinkable = await linkUnchanged(tree, targetOf, { ...options, isPrepared });
  const pacer = new Pacer();
  using staging = root.openAgentDirectory('staging');
  for (const [path, number] of tree.staged) {
    linkSync(staging.at(`${number}`), targetOf(path));
    if (!isStaged(staged[number], targetOf(path))) throw changed(path);
    if (pacer.isDue) await pacer.rest();
  }
  for (const path of directories) target.at(path).permit(tree.to === 'link' ? READ_ONLY : permissions);
  return unlinkable;
}

interface LinkOptions extends BuildOptions {
  /** Whether the tree was a spare, which has most of the files. */
  isPrepared: boolean;
}

async function linkUnchanged(
  { name, path, linked }: NewTree,
  targetOf: (path: string) => string,
  options: LinkOptions,
): Promise<string[]> {
  const { root, retained, isPrepared, signal } = options;
  const pacer = new Pacer();
  const unlinkable: string[] = [];
  using source = new HeldDirectory((path) => root.openDirectory(path));
  const place = `${root.pathFrom('', BUILDING)}/${name}`;
  for (const record of linked) {
    signal?.throwIfAborted();
    if (pacer.isDue) await pacer.rest();
    if (isPrepared && isInSpare(record, `${place}${record.path.slice(path.length)}`, options)) continue;
    const target = targetOf(record.path);
    if (isPrepared && statOf(target)) unlinkSync(target);
    if (!tryKeep(record, target, source, options) && !retained.has(record.path)) unlinkable.push(record.path);
  }
  return unlinkable;
}

/** Checks whether a file of the spare is the recorded one. If it has no other name, the previous tree has another file. */
function isInSpare(record: OwnedFile, place: string, { root, retained }: BuildOptions): boolean {
  if (retained.has(record.path)) return false;
  const stats = root.look(place, statOf);
  return stats !== undefined && stats.nlink > 1 && isRecorded(stats, record, root);
}

/** Checks that the gateway has put no other file in the place of a staged one. */
function isStaged(record: OwnedFile | undefined, path: string): boolean {
  const stats = lstatSync(path);
  if (!record) return false;
  const { size, mtimeMs } = record.fingerprint;
  return isSameKind(stats, record) && stats.size === size && stats.mtimeMs === mtimeMs;
}

/** Codes for a file that is gone, or behind a link. */
const GONE = ['ENOENT', 'ENOTDIR', 'ELOOP', 'data.symbolicLink'];

/** Gives an unchanged file a second name in the new tree. Checks the new name, because the old one can change. */
function tryKeep(record: OwnedFile, target: string, source: HeldDirectory, { root, retained }: BuildOptions): boolean {
  const [parent, name] = splitPath(root.pathOnDisk(record.path));
  try {
    if (!tryLink(source.at(parent).at(name), target)) return false;
  } catch (error) {
    const code = codeOf(error);
    if (GONE.includes(code)) return false;
    throw code === 'EEXIST' ? changed(record.path) : error;
  }
  const stats = lstatSync(target);
  if (isSameKind(stats, record) && (retained.has(record.path) || isRecorded(stats, record, root))) return true;
  unlinkSync(target);
  return false;
}

function isRecorded(stats: Stats, record: OwnedFile, { traits }: DataRoot): boolean {
  const hasMode = hasRecordedMode(stats, record, traits?.keepsModes ?? true);
  return isSameKind(stats, record) && hasMode && isSameFingerprint(record.fingerprint, stats);
}
