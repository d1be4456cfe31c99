import { lstatSync, renameSync } from 'node:fs';
import { Pacer } from '../../shared/io/pacer.ts';
import type { DataRoot } from './data-root.ts';
import { pathOf } from './folder.ts';
import { meanwhile } from './meanwhile.ts';
import type { Placement } from './move-files.ts';
import type { NewFolder, NewFolders } from './new-folders.ts';
import { type Move, split } from './undo-moves.ts';
import type { VolumeLock } from './volume-lock.ts';
import { WorkingFolder } from './working-folder.ts';

interface Target {
  newFolders: NewFolders;
  root: DataRoot;
  lock: VolumeLock;
  /** What is done is noted there before. */
  moves: Move[];
}

interface ToPlace {
  /** All that a sync makes. */
  folders: string[];
  placements: Placement[];
}

/**
 * Brings new folders to their places, each in one step with all files in it, and notes the moves before. Gives the
 * folders and files that have to come one by one: where something has the place by now, or the folder cannot be moved
 * there.
 */
export async function placeFolders({ folders, placements }: ToPlace, target: Target): Promise<ToPlace> {
  const { newFolders, root } = target;
  const isNew = new Set(newFolders.all.flatMap((each) => each.folders));
  const left: ToPlace = { folders: folders.filter((path) => !isNew.has(path)), placements: [] };
  const groups = Map.groupBy(placements, ({ record }) => newFolders.of(record.path));
  // One by one: there may be more of them than a call takes.
  for (const placement of groups.get(undefined) ?? []) left.placements.push(placement);
  const pacer = new Pacer();
  try {
    for (const folder of newFolders.all) {
      const files = groups.get(folder) ?? [];
      await nameFiles(files, newFolders);
      if (!moveFolder(folder, files, target)) {
        await takeApart(files, newFolders, root);
        left.folders.push(...folder.folders);
        for (const file of files) left.placements.push(file);
      }
      if (pacer.isDue) await pacer.rest();
    }
    return left;
  } finally {
    newFolders.close();
  }
}

/** Gives whether the folder is in its place. Nothing may be there right before: an empty folder would be replaced. */
function moveFolder(newFolder: NewFolder, files: Placement[], { newFolders, root, lock, moves }: Target): boolean {
  const { path, staged } = newFolder;
  const [parent, name] = split(path);
  const around = meanwhile(path, () => root.openFolder(parent));
  try {
    const place = around.at(name);
    if (lstatSync(place, { throwIfNoEntry: false })) return false;
    const folder = meanwhile(path, () => newFolders.open(newFolder));
    try {
      lock.check();
      const noted = moves.length;
      note(newFolder, files, moves);
      const isMoved = root.staging.tryMove(staged, place) || folder.isAt(place);
      if (!isMoved) moves.length = noted;
      return isMoved;
    } finally {
      folder.close();
    }
  } finally {
    around.close();
  }
}

function note({ folders }: NewFolder, files: Placement[], moves: Move[]): void {
  for (const path of folders) moves.push({ kind: 'folderMade', path });
  for (const { record } of files) {
    const { path, fingerprint: print } = record;
    moves.push({ kind: 'placed', path, print, saved: undefined, backTo: undefined });
  }
}

/** Gives files of a new folder their names, right before it moves: a program that scans the volume would find them there by their endings. */
async function nameFiles(files: Placement[], newFolders: NewFolders): Promise<void> {
  const pacer = new Pacer();
  const working = new WorkingFolder();
  const rename = ({ staged, record: { path } }: Placement) => {
    const from = working.at(newFolders.placeOf({ path, name: staged }));
    renameSync(from, working.at(newFolders.namedPlaceOf(path)));
  };
  try {
    for (const file of files) {
      meanwhile(file.record.path, () => rename(file));
      if (!pacer.isDue) continue;
      working.leave();
      await pacer.rest();
    }
  } finally {
    working.leave();
  }
}

/** Gives files of a new folder the names that others have in the staging folder. */
async function takeApart(files: Placement[], newFolders: NewFolders, { staging }: DataRoot): Promise<void> {
  const pacer = new Pacer();
  for (const { staged, record } of files) {
    const { path } = record;
    meanwhile(path, () => renameSync(pathOf(newFolders.namedPlaceOf(path)), staging.at(staged)));
    if (pacer.isDue) await pacer.rest();
  }
}
