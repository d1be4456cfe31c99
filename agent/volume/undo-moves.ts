import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { Pacer } from '../../shared/io/pacer.ts';
import { type Fingerprint, isSameFingerprint } from '../plan/manifest.ts';
import type { DataRoot } from './data-root.ts';
import { makeFolder } from './make-folder.ts';
import { putNew } from './put-new.ts';
import { isSameFile } from './seen-file.ts';
import { replacedName } from './set-aside.ts';
import type { VolumeLock } from './volume-lock.ts';

/** Something that can be given back: its name in the staging folder, and that in `taken-over` once it lies there. */
export interface Saved {
  name: string;
  keptAs?: string;
}

/** A step of a sync, noted before it is done: whether it was is seen when it is taken back. */
export type Move =
  /** A file comes to a path, for what is saved if anything was there; `backTo` is its name in the staging folder, if it is needed again. */
  | { kind: 'placed'; path: string; print: Fingerprint; saved: Saved | undefined; backTo: string | undefined }
  | { kind: 'removed'; path: string; saved: Saved }
  | { kind: 'folderMade'; path: string }
  | { kind: 'folderRemoved'; path: string; mode: number };

/** Takes all steps back, the last one first; gives the errors of those that could not be. Throws if the lock is lost. */
export async function undoMoves(moves: Move[], root: DataRoot, lock: VolumeLock): Promise<unknown[]> {
  const pacer = new Pacer();
  const errors: unknown[] = [];
  for (const [index, move] of [...moves.entries()].reverse()) {
    if (move.kind === 'folderMade') lock.check();
    try {
      undoMove(move, index, { root, lock });
    } catch (error) {
      errors.push(error);
    }
    if (pacer.isDue) await pacer.rest();
  }
  return errors;
}

function undoMove(move: Move, index: number, { root, lock }: { root: DataRoot; lock: VolumeLock }): void {
  const [parent, name] = split(move.path);
  const folder = root.openFolder(parent);
  try {
    if (move.kind === 'folderMade') folder.removeFolder(name);
    else if (move.kind === 'folderRemoved') makeFolder(folder, name, { root, lock, permissions: move.mode });
    else if (move.kind === 'removed') giveBack(folder.at(name), move.saved, root);
    else undoPlaced(folder.at(name), { move, index }, root);
  } finally {
    folder.close();
  }
}

type Placed = { move: Extract<Move, { kind: 'placed' }>; index: number };

/** What somebody else put there since, or made of it, is theirs, and stays. */
function undoPlaced(target: string, { move, index }: Placed, root: DataRoot): void {
  const { print, saved, backTo } = move;
  const stats = lstatSync(target, { throwIfNoEntry: false });
  const isOurs = stats !== undefined && isSameFingerprint(print, stats);
  if (isOurs && saved && !backTo) renameSync(staged(saved, root), target);
  else {
    if (isOurs) renameSync(target, root.staging.at(backTo ?? replacedName(index, print)));
    if (saved) giveBack(target, saved, root);
  }
}

/** Where nothing was moved, what is saved is a further name of what is in its place: that goes. */
function giveBack(target: string, saved: Saved, root: DataRoot): void {
  const source = staged(saved, root);
  const stats = lstatSync(source, { throwIfNoEntry: false });
  if (!stats) return;
  if (isSameFile(source, target)) unlinkSync(source);
  else if (stats.isDirectory()) renameSync(source, target);
  else putBack(source, target);
}

/** Without hard links and without an inode for a file that holds the place, a look right before has to do. */
function putBack(source: string, target: string): void {
  try {
    putNew(source, target);
  } catch (error) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
    if (!isFull || lstatSync(target, { throwIfNoEntry: false })) throw error;
    renameSync(source, target);
  }
}

/** The path of what is saved: in the staging folder, from which one who lost the volume can move nothing. */
function staged({ name, keptAs }: Saved, root: DataRoot): string {
  const path = root.staging.at(name);
  if (keptAs === undefined) return path;
  const folder = root.openAgentFolder('taken-over');
  try {
    const isKept = lstatSync(folder.at(keptAs), { throwIfNoEntry: false }) !== undefined;
    if (isKept) renameSync(folder.at(keptAs), path);
  } finally {
    folder.close();
  }
  return path;
}

/** Folder and name of a relative path. */
export function split(path: string): [folder: string, name: string] {
  const at = path.lastIndexOf('/');
  return at === -1 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}
