import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import type { Fingerprint } from '../plan/manifest.ts';
import type { DataRoot } from './data-root.ts';
import type { Folder } from './folder.ts';
import { Pacer } from './pacer.ts';
import { putNew } from './put-new.ts';
import type { VolumeLock } from './volume-lock.ts';

/** Where something lies that can be given back: in the staging folder, or in the one with what was taken over. */
export interface Saved {
  folder: 'staging' | 'taken-over';
  name: string;
}

/** A step of a sync, noted before it is done: whether it was is seen when it is taken back. */
export type Move =
  /** A file comes to a path, for what is saved if anything was there; `from` is where it has to return to. */
  | { kind: 'placed'; path: string; ino: Fingerprint['ino']; saved: Saved | undefined; from?: Saved }
  | { kind: 'removed'; path: string; saved: Saved }
  | { kind: 'folderMade'; path: string }
  | { kind: 'folderRemoved'; path: string; mode: number };

/** Takes all steps back, the last one first; gives the errors of those that could not be. Throws if the lock is lost. */
export async function undoMoves(moves: Move[], root: DataRoot, lock: VolumeLock): Promise<unknown[]> {
  const pacer = new Pacer();
  const errors: unknown[] = [];
  for (const [index, move] of [...moves.entries()].reverse()) {
    if (move.kind === 'folderMade' || move.kind === 'folderRemoved') lock.check();
    try {
      undoMove(move, index, root);
    } catch (error) {
      errors.push(error);
    }
    if (pacer.isDue) await pacer.rest();
  }
  return errors;
}

function undoMove(move: Move, index: number, root: DataRoot): void {
  const [parent, name] = split(move.path);
  const folder = root.openFolder(parent);
  try {
    if (move.kind === 'folderMade') folder.removeFolder(name);
    else if (move.kind === 'folderRemoved') remakeFolder(folder, name, move.mode);
    else if (move.kind === 'removed') giveBack(folder.at(name), move.saved, root);
    else undoPlaced(folder.at(name), { move, index }, root);
  } finally {
    folder.close();
  }
}

function remakeFolder(parent: Folder, name: string, mode: number): void {
  if (!parent.make(name, mode)) return;
  const folder = parent.open(name);
  folder.chmod(mode);
  folder.close();
}

type Placed = { move: Extract<Move, { kind: 'placed' }>; index: number };

/** What somebody else put there since is theirs, and stays. */
function undoPlaced(target: string, { move, index }: Placed, root: DataRoot): void {
  const { ino, saved, from } = move;
  const isOurs = lstatSync(target, { throwIfNoEntry: false })?.ino === ino;
  if (isOurs && from) withSaved(from, root, (source) => putNew(target, source));
  if (isOurs && saved) withSaved(saved, root, (source) => renameSync(source, target));
  else if (isOurs && !from) renameSync(target, root.staging.at(`undone-${index}`));
  else if (saved) giveBack(target, saved, root);
}

/** Where nothing was moved, what is saved is a further name of what is in its place: that goes. */
function giveBack(target: string, saved: Saved, root: DataRoot): void {
  withSaved(saved, root, (source) => {
    const stats = lstatSync(source, { throwIfNoEntry: false });
    if (!stats) return;
    if (lstatSync(target, { throwIfNoEntry: false })?.ino === stats.ino) unlinkSync(source);
    else if (stats.isDirectory()) renameSync(source, target);
    else putNew(source, target);
  });
}

function withSaved({ folder, name }: Saved, root: DataRoot, act: (path: string) => void): void {
  const kept = folder === 'taken-over' ? root.openAgentFolder(folder) : undefined;
  try {
    act(kept ? kept.at(name) : root.staging.at(name));
  } finally {
    kept?.close();
  }
}

/** Folder and name of a relative path. */
export function split(path: string): [folder: string, name: string] {
  const at = path.lastIndexOf('/');
  return at === -1 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}
