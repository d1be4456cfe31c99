import { lstatSync, renameSync } from 'node:fs';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { WaitingError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import type { ContentReader } from '../content/content-reader.ts';
import { type Applied, isSameFingerprint, type Manifest, type OwnedFile } from '../plan/manifest.ts';
import { keptName, updateAfter, updateBefore, updateRecords } from '../plan/next-manifest.ts';
import type { Change, Plan } from '../plan/plan-changes.ts';
import type { LiveFile } from '../plan/plan-input.ts';
import type { DataRoot } from './data-root.ts';
import { folderPermissions } from './make-folder.ts';
import type { ManifestFile } from './manifest-file.ts';
import { FileMover, type Placement } from './move-files.ts';
import { NewFolders } from './new-folders.ts';
import { placeFolders } from './place-folders.ts';
import { stageFiles } from './stage-files.ts';
import { type Move, undoMoves } from './undo-moves.ts';
import type { VolumeLock } from './volume-lock.ts';

export interface Target {
  root: DataRoot;
  lock: VolumeLock;
  manifestFile: ManifestFile;
  openContents: () => ContentReader;
  /** Called when all is written that is to come, before the first file moves: may throw to hold the change back. */
  beforeMoves?: () => Promise<void>;
  values: TemplateValues;
  groupWrite: boolean;
  log: Logger;
  /** Where it has aborted before the first file moves, none does. */
  signal?: AbortSignal;
}

/**
 * Brings the plan about. Everything is written next to its place first; then the manifest says what will be the
 * agent's; then files move. A kill at any moment leaves a state from which the next plan leads to the same end, and an
 * error takes back what was done, unless another agent has taken over: then nothing can be moved any more.
 */
export async function applyChanges(plan: Plan, target: Target, applied: Applied): Promise<void> {
  const { root, lock, manifestFile } = target;
  if (isBookkeeping(plan)) {
    lock.check();
    await manifestFile.append(updateRecords(plan, applied));
    return dropKept(plan, root);
  }
  const newFolders = new NewFolders(root, plan.folders.create);
  const placements = await stageAll(plan, newFolders, target);
  const records = placements.map(({ record }) => record);
  const moves: Move[] = [];
  const mover = new FileMover(root, moves, target);
  try {
    await target.beforeMoves?.();
    target.signal?.throwIfAborted();
    lock.check();
    await manifestFile.append(updateBefore(plan, records, await manifestFile.read()));
    lock.check();
    await moveFiles(plan, mover, () =>
      placeFolders({ folders: plan.folders.create, placements }, { newFolders, root, lock, moves }),
    );
    lock.check();
    await manifestFile.append(updateAfter(plan, applied));
  } catch (error) {
    await takeBack(moves, target);
    throw error;
  } finally {
    mover.close();
  }
  // What was replaced lies there still; the next sync would find it, too.
  dropKept(plan, root);
  await root.staging.empty().catch((error) => target.log.warn({ err: error }, 'staging folder not emptied'));
}

/**
 * Takes back what was done, or leaves it as a kill would: then nothing of it may stay in memory or in the staging folder,
 * since a plan that is made of half of it takes files for somebody else's. Throws, instead of the error that led here,
 * that the volume is another agent's where that is so.
 */
async function takeBack(moves: Move[], target: Target): Promise<void> {
  const { lock, manifestFile, log } = target;
  const errors = await tryTakeBack(moves, target).catch((error: unknown) => [error]);
  if (errors.length > 0) {
    manifestFile.forget();
    lock.expire();
  }
  const lost = errors.find((error) => error instanceof WaitingError);
  // Where nothing moved, only what is said nowhere else is news.
  if (moves.length > 0 || (errors.length > 0 && !lost))
    log.warn({ undone: errors.length === 0, errors: errors.map(String).slice(0, 5) }, 'changes taken back');
  if (lost) throw lost;
}

/** Gives the errors of what could not be taken back. */
async function tryTakeBack(moves: Move[], { root, lock, manifestFile, log }: Target): Promise<unknown[]> {
  lock.check();
  const errors = await undoMoves(moves, root, lock);
  if (errors.length > 0) return errors;
  await manifestFile.takeBack();
  await root.staging.empty().catch((error) => log.warn({ err: error }, 'staging folder not emptied'));
  return [];
}

type Delete = Extract<Change, { kind: 'delete' }>;

async function moveFiles(
  { changes, folders }: Plan,
  mover: FileMover,
  bringFolders: () => ReturnType<typeof placeFolders>,
): Promise<void> {
  const deletes = changes.filter((change): change is Delete => change.kind === 'delete');
  await mover.remove(deletes.filter(({ inTheWay }) => inTheWay));
  await mover.removeFolders(folders.clear);
  const left = await bringFolders();
  await mover.makeFolders(left.folders);
  await mover.place(left.placements);
  for (const change of changes) if (change.kind === 'restore') await mover.giveBack(change);
  await mover.remove(deletes.filter(({ inTheWay }) => !inTheWay));
  await mover.removeFolders(folders.prune);
}

/** Whether nothing happens but in the manifest. */
function isBookkeeping({ changes, folders }: Plan): boolean {
  return changes.length === 0 && folders.clear.length === 0 && folders.prune.length === 0;
}

/**
 * Removes copies of what is in its place again, and no others. Through the staging folder, as all that is moved: so
 * nothing is removed that a later owner of the lock keeps.
 */
function dropKept({ dropped }: Plan, root: DataRoot): void {
  if (dropped.length === 0) return;
  const folder = root.openAgentFolder('taken-over');
  try {
    for (const [index, { path, name }] of dropped.entries()) {
      const copy = lstatSync(folder.at(name), { throwIfNoEntry: false });
      const live = root.lookInside(path, (file) => lstatSync(file, { throwIfNoEntry: false }));
      if (copy && live && isSameFingerprint(copy, live))
        renameSync(folder.at(name), root.staging.at(`dropped-${index}`));
    }
  } finally {
    folder.close();
  }
}

async function stageAll(plan: Plan, newFolders: NewFolders, target: Target): Promise<Placement[]> {
  const { root, openContents, groupWrite } = target;
  const writes = plan.changes.flatMap((change) => ('file' in change ? [change] : []));
  const files = writes.map(({ file }) => file);
  await root.staging.empty();
  const contents = files.length === 0 ? undefined : openContents();
  try {
    newFolders.make(folderPermissions(groupWrite));
    if (!contents) return [];
    const placeOf = (index: number) => newFolders.placeOf({ path: files[index]?.path ?? '', name: `${index}` });
    const records = await stageFiles(files, { ...target, placeOf, fileSystem: root.agentFolder, contents });
    const manifest = await target.manifestFile.read();
    return records.map((record, index) =>
      placement(record, { change: writes[index], staged: `${index}`, manifest, root }),
    );
  } catch (error) {
    // A full disk is not to stay full because of what was not delivered.
    await root.staging.empty().catch(() => {});
    target.lock.check();
    throw error;
  } finally {
    newFolders.close();
    await contents?.close();
  }
}

interface Staged {
  change: Change | undefined;
  staged: string;
  manifest: Manifest;
  root: DataRoot;
}

/** A file that is taken over is kept under a name that the record tells; so is what an earlier sync kept. */
function placement(record: OwnedFile, { change, staged, manifest, root }: Staged): Placement {
  const was = change?.kind === 'modify' ? change.was : undefined;
  const known = manifest.files.get(record.path)?.kept;
  if (change?.reason !== 'TakenOver' || was?.kind !== 'file') {
    return { staged, record: known ? { ...record, kept: known } : record, was, keepAs: undefined };
  }
  const kept = { name: freeName(record.path, was, root), size: was.fingerprint.size };
  return { staged, record: { ...record, kept }, was, keepAs: kept.name };
}

/** A name that nothing has, or that the very file has already since a kill came between: nothing that is kept is replaced. */
function freeName(path: string, was: LiveFile, root: DataRoot): string {
  const folder = root.openAgentFolder('taken-over');
  try {
    for (let number = 1; ; number += 1) {
      const name = keptName(path, number);
      if (isFree(folder.at(name), was)) return name;
    }
  } finally {
    folder.close();
  }
}

function isFree(file: string, { fingerprint }: LiveFile): boolean {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  return stats === undefined || isSameFingerprint(fingerprint, stats);
}
