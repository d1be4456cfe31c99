import { lstatSync } from 'node:fs';
import { seenEntry, seenFile } from '../../disk/seen-file.ts';
import type { Manifest, OwnedFile } from '../../plan/manifest.ts';
import { type Change, keepsExisting, type Plan } from '../../plan/plan-changes.ts';
import { rootOf } from '../../plan/trees.ts';
import type { FileMove, Move, PublishMove } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';

/**
 * Lists the moves of a plan, in order: removals of obstacles, new files, removals of undesired files, then exchanges of
 * links to trees. `staged` are the records of the new files; the returned ones also show which were found.
 */
export function listMoves(
  { changes, directories }: Plan,
  staged: readonly OwnedFile[],
  manifest: Manifest,
  { root, published }: { root: DataRoot; published: readonly PublishMove[] },
): { moves: Move[]; records: OwnedFile[] } {
  const list = new MoveList(staged, manifest);
  const all = published.map(({ path }) => path);
  const trees = published.flatMap(({ path, to }) => (to === 'nothing' ? [] : [path]));
  const lists = { before: [] as Move[], coming: [] as Move[], after: [] as Move[] };
  for (const change of changes) {
    if ('file' in change) {
      const move = list.write(change);
      if (!isIn(change.path, trees)) lists.coming.push(move);
    } else if (!isIn(change.path, all)) {
      lists[change.inTheWay ? 'before' : 'after'].push(list.remove(change));
    }
  }
  const isExchange = ({ from, to }: PublishMove) => from === 'link' && to === 'link';
  const moves = [
    ...lists.before,
    ...published
      .filter(({ to }) => to === 'nothing')
      .sort(byLength)
      .reverse(),
    ...removals(directories.clear, root),
    ...directories.create.map((path): Move => ({ kind: 'makeFolder', path })),
    ...published.filter((move) => move.to !== 'nothing' && !isExchange(move)).sort(byLength),
    ...lists.coming,
    ...lists.after,
    ...removals(directories.prune, root),
    // Last, so that readers don't see a tree if another move fails.
    ...published.filter(isExchange),
  ];
  return { moves, records: list.records };
}

/** Checks whether a file is in one of the trees, so that it needs no move of its own. */
const isIn = (path: string, trees: readonly string[]): boolean => rootOf(path, trees) !== undefined;

/** The outer ones first. */
const byLength = (a: PublishMove, b: PublishMove): number => a.path.length - b.path.length;

function removals(directories: readonly string[], root: DataRoot): Move[] {
  return directories.flatMap((path): Move[] => {
    const stats = root.look(path, (directory) => lstatSync(directory));
    return stats?.isDirectory() ? [{ kind: 'removeFolder', path, mode: stats.mode & 0o7777 }] : [];
  });
}

type Write = Extract<Change, { kind: 'add' | 'modify' }>;

class MoveList {
  readonly records: OwnedFile[] = [];
  readonly #staged: readonly OwnedFile[];
  readonly #manifest: Manifest;
  /** Number of the next move of a file that isn't staged. */
  #number: number;

  constructor(staged: readonly OwnedFile[], manifest: Manifest) {
    this.#staged = staged;
    this.#manifest = manifest;
    this.#number = staged.length;
  }

  write(change: Write): Move {
    const number = this.records.length;
    const record = this.#staged[number];
    if (!record) throw new Error(`nothing is staged for ${change.path}`);
    const recorded = this.#manifest.files.get(change.path);
    // Without a takeover, only the mode of a found file changes.
    const isFound = recorded?.found ?? ('copied' in change ? change.copied?.found : undefined);
    const found = change.kind === 'modify' && change.reason !== 'TakenOver' ? isFound : undefined;
    this.records.push(found ? { ...record, found } : record);
    return { ...this.#removal(change, number), newFile: seenFile(record) };
  }

  remove(change: Change): Move {
    this.#number += 1;
    return this.#removal(change, this.#number);
  }

  /** The move of the existing entry, if there is one. */
  #removal(change: Change, number: number): FileMove {
    const move: FileMove = { kind: 'file', path: change.path, number };
    const oldEntry = seenEntry(change.kind === 'add' ? undefined : change.existing);
    if (oldEntry) move.oldEntry = oldEntry;
    if (keepsExisting(change, this.#manifest)) move.isForeign = true;
    return move;
  }
}
