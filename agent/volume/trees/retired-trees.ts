import { constants, renameSync } from 'node:fs';
import { open } from 'node:fs/promises';
import * as v from 'valibot';
import { splitPath } from '../../../shared/domain/files/relative-path.ts';
import { Pacer } from '../../../shared/io/pacer.ts';
import type { Directory } from '../../disk/directory.ts';
import { isForbidden } from '../../disk/hash-file.ts';
import { HeldDirectory } from '../../disk/held-directory.ts';
import { OpenFile } from '../../disk/open-file.ts';
import { READ_FLAGS } from '../../disk/read-text.ts';
import type { SeenFile } from '../../disk/seen-file.ts';
import { isSameFile, isSeen, seenFile, statOf } from '../../disk/seen-file.ts';
import type { Manifest } from '../../plan/manifest.ts';
import { rootOf } from '../../plan/trees.ts';
import {
  ownPath,
  parseLine,
  readLines,
  seenFileLine,
  treeName,
  writeChecked,
  writeText,
} from '../manifest/checked-lines.ts';
import { hasJournal } from '../manifest/journal.ts';
import { linkedTree } from '../scan/tree-link.ts';
import { type DataRoot, TREES } from '../state/data-root.ts';
import { tryAt, withStores } from '../state/stores.ts';
import { BUILDING } from './build-tree.ts';
import { removeTree } from './remove-tree.ts';
import { isSpare } from './spare-tree.ts';

const ENDING = '.jsonl';
const APPEND_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW;

const headerLine = v.object({
  destination: ownPath,
  retiredAt: v.number(),
  isUndone: v.exactOptional(v.boolean()),
});
const fileLine = v.object({ path: ownPath, seen: seenFileLine });

interface RetiredFiles {
  tree: string;
  destination: string;
  /** The agent's files that no other tree has, by their paths in the tree. */
  files: Iterable<{ path: string; seen: SeenFile }>;
  /** Whether the list is for a new tree whose sync might be undone. */
  isUndone?: boolean;
}

/** A tree that its destination no longer links to. */
export interface RetiredTree {
  tree: string;
  destination: string;
  retiredAt: number;
  /** Whether the sync that published it was undone. */
  isUndone?: boolean;
}

/** Lists the agent's files of a tree that is about to be replaced, so that it can be removed later, even after a restart. */
export async function writeRetired(
  { tree, destination, files, isUndone }: RetiredFiles,
  root: DataRoot,
): Promise<void> {
  using trees = root.openAgentDirectory(TREES);
  using staging = root.openAgentDirectory('staging');
  const name = `${tree}${ENDING}`;
  staging.makeRoom(name);
  using file = new OpenFile(staging.at(name), 'wx', 0o600);
  function* lines() {
    yield { destination, retiredAt: Date.now(), isUndone };
    yield* files;
  }
  await writeChecked(file.descriptor, lines());
  trees.makeRoom(name);
  renameSync(staging.at(name), trees.at(name));
}

/** Lists the agent's files at a destination that the next tree doesn't have. */
export function* leftIn(destination: string, kept: ReadonlySet<string>, { files }: Manifest) {
  for (const record of files.values()) {
    if (record.found || kept.has(record.path) || rootOf(record.path, [destination]) === undefined) continue;
    yield { path: record.path.slice(destination.length + 1), seen: seenFile(record) };
  }
}

/** Completes the list of a tree whose sync was undone: its unchanged files can lose their other names before its removal. */
export async function completeUndone(
  destination: string,
  tree: string,
  manifest: Manifest,
  root: DataRoot,
): Promise<void> {
  using trees = root.openAgentDirectory(TREES);
  const list = trees.at(`${tree}${ENDING}`);
  if (!statOf(list)?.isFile()) return;
  using file = new OpenFile(list, APPEND_FLAGS);
  writeText(file.descriptor, '\n'); // an interrupted attempt can leave half a line
  await writeChecked(file.descriptor, leftIn(destination, new Set(), manifest));
}

/** Removes the list of a new tree after its sync. */
export function dropRetired(tree: string, root: DataRoot): void {
  using trees = root.openAgentDirectory(TREES);
  trees.unlink(`${tree}${ENDING}`);
}

/** Checks whether a tree has a list. */
export function isRetired(tree: string, root: DataRoot): boolean {
  using trees = root.openAgentDirectory(TREES);
  return statOf(trees.at(`${tree}${ENDING}`)) !== undefined;
}

/** Returns the trees that can be removed, the oldest first. A tree without a list is none of them. */
export async function retiredTrees(root: DataRoot): Promise<RetiredTree[]> {
  if (hasJournal(root) || !root.hasOwn(TREES)) return [];
  using trees = root.openAgentDirectory(TREES);
  const current = new Set(Array.from(root.trees.values(), ({ tree }) => tree));
  const retired: RetiredTree[] = [];
  for (const name of trees.list()) {
    const tree = name.slice(0, -ENDING.length);
    if (!name.endsWith(ENDING) || !v.is(treeName, tree) || current.has(tree)) continue;
    for await (const line of linesOf(trees.at(name))) {
      const header = parseLine(headerLine, line);
      // Without a manifest, a link might still lead to it.
      if (header && linkedTree(root, header.destination) !== tree) retired.push({ tree, ...header });
      break;
    }
  }
  return retired.sort((a, b) => a.retiredAt - b.retiredAt);
}

/**
 * Removes a retired tree. What the gateway wrote into it goes to `taken-over`; returns the path of a directory that went
 * there with the rest of the tree because it belongs to another user. Continues later if it is aborted.
 */
export async function removeRetired(
  retired: RetiredTree,
  root: DataRoot,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { tree, destination } = retired;
  using trees = root.openAgentDirectory(TREES);
  using names = new OtherNames(retired, trees, root);
  const list = `${tree}${ENDING}`;
  const blockedAt = await withStores(root, async (stores) => {
    await unlinkListed(trees.at(list), tree, trees);
    const isElsewhere = (file: Buffer, path: string) => names.include(file, path);
    signal?.throwIfAborted();
    return await removeTree(trees, tree, { destination, stores, isElsewhere, signal });
  });
  if (!statOf(trees.at(tree))) trees.unlink(list);
  return blockedAt === undefined ? undefined : `${destination}/${blockedAt}`;
}

/** Finds the other names of unchanged files: at their paths in the volume, and in other trees. */
class OtherNames implements Disposable {
  readonly #placeOf: (path: string) => string;
  readonly #place: HeldDirectory;
  readonly #others: string[];
  readonly #other: HeldDirectory;

  constructor({ tree, destination }: RetiredTree, trees: Directory, root: DataRoot) {
    this.#placeOf = (path) => root.pathOnDisk(`${destination}/${path}`);
    this.#place = new HeldDirectory((path) => root.openDirectory(path));
    this.#others = trees.list().filter((name) => name !== tree && !name.endsWith(ENDING));
    this.#other = new HeldDirectory((path) => trees.openBelow(path));
  }

  include(file: Buffer, path: string): boolean {
    const isHere = (held: HeldDirectory, place: string) => {
      const [parent, name] = splitPath(place);
      const directory = tryAt(held, parent);
      return directory !== undefined && isSameFile(file, directory.at(name));
    };
    if (isHere(this.#place, this.#placeOf(path))) return true;
    return this.#others.some((other) => isHere(this.#other, `${other}/${path}`));
  }

  [Symbol.dispose](): void {
    this.#place.close();
    this.#other.close();
  }
}

/** Unlinks the files of a list that are as the agent wrote them. */
async function unlinkListed(list: string, tree: string, trees: Directory): Promise<void> {
  const pacer = new Pacer();
  using held = new HeldDirectory((path) => trees.openBelow(path));
  let writable = '';
  for await (const line of linesOf(list)) {
    const file = parseLine(fileLine, line);
    if (!file) continue;
    const [parent, name] = splitPath(`${tree}/${file.path}`);
    try {
      const directory = tryAt(held, parent);
      if (!directory || !statOf(directory.at(name)) || !(await isSeen(directory.at(name), file.seen))) continue;
      if (writable !== parent) directory.permit(0o755);
      writable = parent;
      directory.unlink(name);
    } catch (error) {
      if (!isForbidden(error)) throw error; // it is kept
    }
    if (pacer.isDue) await pacer.rest();
  }
}

/** Removes trees that were never published, except spares; must run before the staging directory is emptied. */
export async function clearBuilding(root: DataRoot): Promise<void> {
  if (!root.hasOwn(BUILDING)) return;
  using building = root.openAgentDirectory(BUILDING);
  const names = building.list().filter((name) => !isSpare(name));
  if (names.length === 0) return;
  await withStores(root, async (stores) => {
    for (const name of names) await removeTree(building, name, { destination: name, stores });
  });
}

async function* linesOf(path: string): AsyncGenerator<Buffer> {
  const handle = await open(path, READ_FLAGS).catch(() => undefined);
  if (!handle) return;
  try {
    if ((await handle.stat()).isFile()) yield* readLines(handle.createReadStream({ autoClose: false, start: 0 }));
  } finally {
    await handle.close();
  }
}
