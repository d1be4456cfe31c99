import { WaitingError } from '../../../shared/errors.ts';
import type { Logger } from '../../../shared/log.ts';
import type { ContentReader } from '../../content/content-reader.ts';
import { changed } from '../../disk/changed.ts';
import type { Applied, OwnedFile } from '../../plan/manifest.ts';
import { manifestUpdate } from '../../plan/next-manifest.ts';
import type { Plan } from '../../plan/plan-changes.ts';
import { hasJournal, writeJournal } from '../manifest/journal.ts';
import type { ManifestFile } from '../manifest/manifest-file.ts';
import type { Move } from '../manifest/move.ts';
import type { DataRoot } from '../state/data-root.ts';
import type { VolumeLock } from '../state/volume-lock.ts';
import { buildTrees } from '../trees/build-trees.ts';
import { listMoves } from './list-moves.ts';
import { moveFiles } from './move-files.ts';
import { clearLeftovers, clearUp, settleVolume } from './settle.ts';
import { stageFiles } from './stage-files.ts';

export interface Target {
  root: DataRoot;
  lock: VolumeLock;
  manifestFile: ManifestFile;
  openContents: () => Pick<ContentReader, 'announce' | 'open' | 'openNow'> & AsyncDisposable;
  /** Called after staging, before the first file moves; can throw to defer the change. */
  beforeMoves?: (() => Promise<void>) | undefined;
  values: ReadonlyMap<string, string>;
  groupWrite: boolean;
  log: Logger;
  /** If it aborts before the first file moves, none does. */
  signal?: AbortSignal;
}

/**
 * Carries out the plan. Writes all content next to its destination, then lists the moves in the journal, moves the
 * files, and records them in the manifest. An error undoes everything, and so does the next agent after a kill.
 */
export async function applyChanges(plan: Plan, target: Target, applied: Applied): Promise<void> {
  const { root, lock, manifestFile, log } = target;
  if (isBookkeeping(plan)) return await whileHeld(lock, () => manifestFile.append(manifestUpdate(plan, [], applied)));
  let moves: Move[];
  try {
    // Another agent's sync was interrupted: the plan is from before that.
    if (hasJournal(root)) throw changed(root.state.path);
    await whileHeld(lock, () => clearLeftovers(root));
    const staged = await stageAll(plan, target);
    const manifest = await manifestFile.read();
    const permissions = target.groupWrite ? 0o775 : undefined;
    const built = await buildTrees({
      plan,
      manifest,
      root,
      commit: applied.commit,
      staged,
      permissions: permissions ?? 0o755,
    });
    await target.beforeMoves?.();
    target.signal?.throwIfAborted();
    const listed = listMoves(plan, staged, manifest, { root, published: built.moves });
    moves = listed.moves;
    const journal = await whileHeld(lock, () => writeJournal(listed.moves, root));
    await whileHeld(lock, () => moveFiles(listed.moves, { root, permissions }));
    const update = manifestUpdate(plan, listed.records, applied);
    const { trees } = built;
    const folders = [...update.folders, ...built.folders];
    const forgottenFolders = [...update.forgottenFolders, ...built.forgottenFolders];
    await whileHeld(lock, () => manifestFile.append({ ...update, folders, forgottenFolders, trees, journal }));
  } catch (error) {
    await undo(error, target);
    throw error;
  }
  // If this fails, the next sync does it.
  await clearUp(moves, root, { hasEnded: true }).catch((err) => log.warn({ err }, 'data volume not cleared up'));
}

/** Takes a step, unless another agent has replaced the lock. */
function whileHeld<T>(lock: VolumeLock, step: () => T): T {
  lock.check();
  return step();
}

/** Undoes the moves in the journal; if that fails, the next sync retries before it plans. */
async function undo(cause: unknown, { root, lock, manifestFile, log }: Target): Promise<void> {
  manifestFile.forget();
  try {
    // The next holder of the lock undoes it otherwise.
    if (await whileHeld(lock, () => settleVolume({ root, manifestFile, log })))
      log.warn({ err: cause }, 'changes undone');
  } catch (err) {
    if (err instanceof WaitingError) throw err;
    log.warn({ err, cause: String(cause) }, 'changes not undone yet');
  }
}

/** Checks whether only the manifest changes. */
function isBookkeeping({ changes, directories, publications }: Plan): boolean {
  return changes.length + publications.length === 0 && directories.clear.length === 0 && directories.prune.length === 0;
}

/** Returns records of the staged files, in the order of the plan. */
async function stageAll(plan: Plan, target: Target): Promise<OwnedFile[]> {
  const writes = plan.changes.filter((change) => 'file' in change);
  if (writes.length === 0) return [];
  using directory = target.root.openAgentDirectory('staging');
  await using contents = target.openContents();
  return await stageFiles(writes, { ...target, directory, fileSystem: target.root.agentDirectory, contents });
}
