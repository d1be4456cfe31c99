import type { Applied } from '../plan/manifest.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { hasJournal } from '../volume/manifest/journal.ts';
import { settleVolume } from '../volume/moves/settle.ts';
import { checkReach } from './check-reach.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

type Holding = Pick<SyncDependencies, 'root' | 'lock' | 'manifestFile' | 'mounts' | 'baseline' | 'log'>;

/** Takes the volume for a sync. A dry run leaves it unchanged, except to undo an interrupted sync. */
export async function holdVolume({ profile }: Intent, dependencies: Holding): Promise<void> {
  dependencies.root.checkPlace();
  checkReach(dependencies, []);
  readAgainUnlessHeld(dependencies);
  if (profile.dryRun) await undoForOthers(dependencies);
  else await takeVolume(dependencies);
}

/** Returns the release that is completely in the volume, after undoing an interrupted sync. */
export async function lastGood(dependencies: Holding): Promise<Applied | undefined> {
  await undoForOthers(dependencies);
  return await dependencies.manifestFile.readApplied();
}

/** Discards caches unless the volume is held, because another agent might have changed it. */
export function readAgainUnlessHeld(dependencies: Pick<SyncDependencies, 'lock' | 'manifestFile' | 'baseline'>): void {
  if (!dependencies.lock.isHeld()) readAgain(dependencies);
}

function readAgain({ manifestFile, baseline }: Pick<SyncDependencies, 'manifestFile' | 'baseline'>): void {
  manifestFile.forget();
  baseline.forget();
}

/** Takes the volume, and undoes an interrupted sync. */
async function takeVolume(dependencies: Holding): Promise<void> {
  const { lock, root } = dependencies;
  const isNew = await lock.hold();
  if (!isNew && !hasJournal(root)) return;
  readAgain(dependencies);
  await settleVolume(dependencies);
}

/** Undoes an interrupted sync for an agent that doesn't write: afterwards, others can take the volume as before. */
async function undoForOthers(dependencies: Holding): Promise<void> {
  const { lock, root } = dependencies;
  if (!hasJournal(root)) return;
  const wasHeld = lock.isHeld();
  try {
    await takeVolume(dependencies);
  } finally {
    if (!wasHeld) lock.release();
  }
}
