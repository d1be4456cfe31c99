import { isDeepStrictEqual } from 'node:util';
import { leftOut, noCommit, otherKind } from '../git/find-fault.ts';
import { DamagedCloneError } from '../git/git-stream.ts';
import type { Applied } from '../plan/manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { USUAL_TRAITS } from '../plan/volume-traits.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { applyChanges } from '../volume/apply-changes.ts';
import { hasJournal } from '../volume/journal.ts';
import { settleVolume } from '../volume/settle.ts';
import { isRecorded, planFromManifest } from './plan-from-manifest.ts';
import { planSync } from './plan-sync.ts';
import { isFull, makeRoom, openContents, pinCommit, provideCommit, verifyCommit } from './provide-content.ts';
import { aimOf, recipeOf, type SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** What was done, in this order, about a commit that cannot be read. */
type Remedy = 'none' | 'fetchedAgain' | 'madeAgain';

/**
 * Brings the data volume in line with the commit and the profile, or in a dry run says what that would mean. A clone
 * that is full is deleted and fetched again, once. A commit that cannot be read is fetched once more, and a clone that
 * turns out to be damaged is made again, once.
 */
export async function sync(
  intent: Intent,
  dependencies: SyncDependencies,
  signal: AbortSignal,
): Promise<SyncOutcome<'synced' | 'planned'>> {
  for (let remedy: Remedy = 'none'; ; ) {
    try {
      return await attempt(intent, dependencies, { signal, isRefetch: remedy === 'fetchedAgain' });
    } catch (error) {
      if (isFull(error)) await makeRoom(intent.commit, error, dependencies);
      else if (error instanceof DamagedCloneError) {
        remedy = await remedyFor(error, { intent, dependencies, signal, tried: remedy });
      } else throw error;
    }
  }
}

interface Unreadable {
  intent: Intent;
  dependencies: SyncDependencies;
  signal: AbortSignal;
  tried: Remedy;
}

/** Does what may help. Throws what is wrong where that is the commit, or where nothing is left to try. */
async function remedyFor(
  error: DamagedCloneError,
  { intent: { commit }, dependencies: { clone, log }, signal, tried }: Unreadable,
): Promise<Remedy> {
  const fault = await clone.repository.faultIn(commit, signal);
  if (fault === 'noCommit') throw noCommit(commit, error);
  if (fault === 'commit') throw otherKind(`commit ${commit} has an entry whose object has the wrong type`, error);
  if (fault === 'clone' && tried !== 'madeAgain') {
    log.warn({ err: error }, 'clone is corrupt; recreating it');
    await clone.repository.recreate(commit);
    return 'madeAgain';
  }
  if (fault === 'missing' && tried === 'none') {
    log.warn({ err: error, commit }, 'commit cannot be read; fetching it again');
    return 'fetchedAgain';
  }
  throw fault === 'missing' ? leftOut(commit, error) : error;
}

async function attempt(
  intent: Intent,
  dependencies: SyncDependencies,
  { signal, isRefetch }: { signal: AbortSignal; isRefetch: boolean },
): Promise<SyncOutcome<'synced' | 'planned'>> {
  await holdVolume(intent, dependencies);
  dependencies.baseline.onBegin(intent);
  const aim = { ...(await aimOf(intent, dependencies, signal)), isRefetch };
  const right = await planWithoutGit(aim, dependencies);
  if (right) return await confirm(right, aim, dependencies);
  await provideCommit(aim, dependencies);
  const keys = await verifyCommit(aim, dependencies);
  const { plan, attributes } = await planSync(aim, dependencies);
  if (!intent.profile.dryRun) {
    await bringAbout(plan, { ...aim, keys }, dependencies);
    dependencies.baseline.onSynced(recipeOf(aim, dependencies), plan, attributes);
  }
  await pinCommit(intent, dependencies);
  const outcome = await outcomeOf(plan, intent, dependencies);
  const hasChanged = outcome.kind === 'synced' && plan.changes.length > 0;
  const author = hasChanged ? await authorOf(intent, dependencies) : undefined;
  return { ...outcome, ignored: attributes.ignored, author };
}

async function outcomeOf(
  plan: Plan,
  intent: Intent,
  dependencies: SyncDependencies,
): Promise<SyncOutcome<'synced' | 'planned'>> {
  if (intent.profile.dryRun) return { kind: 'planned', intent, plan };
  const { weakness: lockWeakness } = dependencies.lock;
  return { kind: 'synced', intent, plan, pointers: await plainPointers(dependencies), lockWeakness };
}

/** Paths in the repository of pointers of Git LFS that were delivered as they are, because no attribute names them. */
async function plainPointers({ manifestFile }: SyncDependencies): Promise<string[]> {
  const { files } = await manifestFile.read();
  const pointers: string[] = [];
  for (const { source, lfs } of files.values()) if (lfs === false) pointers.push(source);
  return pointers;
}

/**
 * Makes a plan for files that are right already, while the clone lacks the commit, as in a new pod. The first sync of an
 * agent doesn't fetch it then: the gateway can start. Later ones do, for repairs and rollbacks, and succeed without it as well.
 */
async function planWithoutGit(aim: SyncAim, dependencies: SyncDependencies): Promise<Plan | undefined> {
  const { clone, baseline, log } = dependencies;
  const { commit } = aim.intent;
  if (aim.isRefetch || (await clone.adopt(commit))) return undefined;
  const plan = await planFromManifest(aim, dependencies);
  if (!plan || baseline.isBlank) return plan;
  try {
    await provideCommit(aim, dependencies);
    return undefined;
  } catch (error) {
    aim.signal.throwIfAborted();
    log.info({ err: error, commit }, 'commit not fetched; the files are correct without it');
    return plan;
  }
}

async function confirm(
  plan: Plan,
  aim: SyncAim,
  dependencies: SyncDependencies,
): Promise<SyncOutcome<'synced' | 'planned'>> {
  const { intent, manifest } = aim;
  if (!intent.profile.dryRun) {
    await bringAbout(plan, { ...aim, keys: manifest.applied?.keys }, dependencies);
    dependencies.baseline.onConfirmed(plan);
  }
  return { ...(await outcomeOf(plan, intent, dependencies)), isWithoutGit: true };
}

/** Checks whether a sync for the intent can do without the git server, as far as can be seen without a look at the files. */
export async function isAtHand(intent: Intent, dependencies: SyncDependencies): Promise<boolean> {
  const { clone, baseline } = dependencies;
  if (await clone.repository.holds(intent.commit)) return true;
  if (!baseline.isBlank) return false;
  return await isRecorded(await aimOf(intent, dependencies, new AbortController().signal), dependencies);
}

/** A dry run leaves the volume unchanged, except to undo a sync that was cut off. */
async function holdVolume({ profile }: Intent, dependencies: SyncDependencies): Promise<void> {
  const { lock, root } = dependencies;
  root.checkPlace();
  if (!lock.isHeld) readAgain(dependencies);
  await (profile.dryRun ? undoForOthers(dependencies) : takeVolume(dependencies));
}

/** Takes the volume, and undoes what an earlier sync left half done. */
async function takeVolume(dependencies: SyncDependencies): Promise<void> {
  const { lock, root } = dependencies;
  const isNew = await lock.hold();
  if (!isNew && !hasJournal(root)) return;
  readAgain(dependencies);
  await settleVolume(dependencies);
}

/** The same if a sync was cut off, for an agent that writes nothing: others can take the volume then as before. */
async function undoForOthers(dependencies: SyncDependencies): Promise<void> {
  const { lock, root } = dependencies;
  if (!hasJournal(root)) return;
  const { isHeld } = lock;
  try {
    await takeVolume(dependencies);
  } finally {
    if (!isHeld) lock.release();
  }
}

/** What is completely in the volume, once a sync that was cut off is undone. */
export async function lastGood(dependencies: SyncDependencies): Promise<Applied | undefined> {
  await undoForOthers(dependencies);
  return await dependencies.manifestFile.readApplied();
}

/** Another agent may have changed what is in the volume. */
export function readAgain({ manifestFile, baseline }: SyncDependencies): void {
  manifestFile.forget();
  baseline.forget();
}

/** Carries the plan out, unless there is nothing to do and nothing to note. */
async function bringAbout(plan: Plan, aim: SyncAim, dependencies: SyncDependencies): Promise<void> {
  const { intent, manifest, values } = aim;
  const { root, lock, manifestFile, baseline, gateway, log } = dependencies;
  const applied = appliedBy(aim, dependencies);
  if (!isNoted(applied, manifest.applied) || plan.changes.length + plan.corrected.length + plan.disowned.length > 0) {
    aim.signal.throwIfAborted();
    // Nothing is staged while somebody edits. Who begins to meanwhile is found before the first file moves.
    const hasChanges = plan.changes.length > 0;
    if (hasChanges) await gateway.checkEditors(intent);
    const target = {
      root,
      lock,
      manifestFile,
      openContents: () => openContents(aim, dependencies),
      beforeMoves: hasChanges ? () => beforeChange(aim, dependencies) : undefined,
      values,
      groupWrite: intent.profile.groupWrite,
      log,
      signal: aim.signal,
    };
    await applyChanges(plan, target, applied).catch((error) => {
      baseline.forget();
      throw error;
    });
  }
}

async function beforeChange({ intent, signal }: SyncAim, { gateway, verifier }: SyncDependencies): Promise<void> {
  await gateway.beforeChange(intent, signal);
  verifier.beforeChange(intent);
}

function appliedBy(aim: SyncAim, dependencies: SyncDependencies): Applied {
  const { ref, commit, revision, profile } = aim.intent;
  const { traits } = dependencies.root;
  return {
    ref,
    commit,
    time: new Date().toISOString(),
    revision,
    startPolicy: profile.startPolicy === 'requireSync' ? undefined : profile.startPolicy,
    recipe: recipeOf(aim, dependencies),
    keys: aim.keys,
    volume: isDeepStrictEqual(traits, USUAL_TRAITS) ? undefined : traits,
  };
}

/** Whether the manifest says all that a sync would write there, apart from the time. */
function isNoted(next: Applied, applied: Applied | undefined): boolean {
  return NOTED.every((field) => isDeepStrictEqual(next[field], applied?.[field]));
}

const NOTED = ['ref', 'commit', 'revision', 'startPolicy', 'recipe', 'keys', 'volume'] as const;

/** Only for the log: files that are in place stay in place where git cannot say whose they are. */
async function authorOf({ commit }: Intent, { clone, log }: SyncDependencies): Promise<string | undefined> {
  return await clone.author(commit).catch((error) => {
    log.warn({ err: error, commit }, 'author of the commit not read');
    return undefined;
  });
}
