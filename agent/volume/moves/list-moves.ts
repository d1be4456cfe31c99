import { lstatSync } from 'node:fs';
import { withoutUndefined } from '../../../shared/domain/text/objects.ts';
import type { Directory } from '../../disk/directory.ts';
import { fingerprintOf } from '../../disk/fingerprint-of.ts';
import { readHash, UNREAD } from '../../disk/hash-file.ts';
import { seenEntry, seenFile, statOf } from '../../disk/seen-file.ts';
import type { Manifest, OwnedFile } from '../../plan/manifest.ts';
import type { Change, Plan } from '../../plan/plan-changes.ts';
import type { LiveFile } from '../../plan/plan-input.ts';
import { rootOf } from '../../plan/trees.ts';
import type { FileMove, Move, PublishMove } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';
import { freeName } from '../state/put-aside.ts';

/**
 * Lists the moves of a plan, in order: removals of obstacles, new files, removals of undesired files, then exchanges of
 * links to trees. `staged` are the records of the new files; the returned records also list the files that they
 * displace.
 */
export async function listMoves(
  { changes, directories }: Plan,
  staged: readonly OwnedFile[],
  manifest: Manifest,
  { root, published }: { root: DataRoot; published: readonly PublishMove[] },
): Promise<{ moves: Move[]; records: OwnedFile[] }> {
  using takenOver = root.openAgentDirectory('taken-over');
  const list = new MoveList(staged, manifest, takenOver);
  const all = published.map(({ path }) => path);
  const trees = published.flatMap(({ path, to }) => (to === 'nothing' ? [] : [path]));
  const lists = { before: [] as Move[], coming: [] as Move[], after: [] as Move[] };
  for (const change of changes) {
    if ('file' in change) {
      const move = list.write(change);
      if (!isIn(change.path, trees)) lists.coming.push(move);
    } else if (change.kind === 'delete' && !isIn(change.path, all)) {
      lists[change.inTheWay ? 'before' : 'after'].push(list.remove(change));
    }
  }
  for (const change of changes) {
    if (change.kind === 'restore' && !isIn(change.path, trees)) lists.coming.push(...(await list.restore(change)));
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
type Restore = Extract<Change, { kind: 'restore' }>;

class MoveList {
  readonly records: OwnedFile[] = [];
  readonly #staged: readonly OwnedFile[];
  readonly #manifest: Manifest;
  readonly #takenOver: Directory;
  /** Number of the next move of a file that isn't staged. */
  #number: number;

  constructor(staged: readonly OwnedFile[], manifest: Manifest, takenOver: Directory) {
    this.#staged = staged;
    this.#manifest = manifest;
    this.#takenOver = takenOver;
    this.#number = staged.length;
  }

  write(change: Write): Move {
    const number = this.records.length;
    const record = this.#staged[number];
    if (!record) throw new Error(`nothing is staged for ${change.path}`);
    const move: FileMove = { kind: 'file', path: change.path, number, comes: seenFile(record) };
    const existing = change.kind === 'modify' ? change.existing : undefined;
    const leaves = seenEntry(existing);
    if (leaves) move.leaves = leaves;
    const recorded = this.#manifest.files.get(change.path);
    let displaced = recorded?.displaced;
    if (change.reason === 'TakenOver' && existing?.kind === 'file') {
      move.displacedTo = freeName(change.path, this.#takenOver);
      displaced = { name: move.displacedTo, size: existing.fingerprint.size };
    }
    // Without a takeover, only the mode of a found file changes.
    const isFound = recorded?.found ?? ('copied' in change ? change.copied?.found : undefined);
    const found = change.kind === 'modify' && change.reason !== 'TakenOver' ? isFound : undefined;
    this.records.push(displaced || found ? withoutUndefined({ ...record, displaced, found }) : record);
    return move;
  }

  remove({ path, existing }: { path: string; existing: LiveFile }): Move {
    this.#number += 1;
    return { kind: 'file', path, number: this.#number, leaves: seenFile(existing) };
  }

  /** If the previous file is gone, the agent's file is just removed. */
  async restore({ path, existing, displaced }: Restore): Promise<Move[]> {
    const copy = this.#takenOver.at(displaced.name);
    const stats = statOf(copy);
    if (!stats?.isFile()) return existing ? [this.remove({ path, existing })] : [];
    const sha256 = (await readHash(copy)) ?? UNREAD.sha256;
    const comes = seenFile({ fingerprint: fingerprintOf(stats), sha256 });
    this.#number += 1;
    const move: FileMove = { kind: 'file', path, number: this.#number, comes, comesFrom: displaced.name };
    if (existing) move.leaves = seenFile(existing);
    return [move];
  }
}
