import { isDeepStrictEqual } from 'node:util';
import type { Applied } from '../plan/manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { USUAL_TRAITS } from '../plan/volume-traits.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { hasJournal } from '../volume/manifest/journal.ts';
import { applyChanges } from '../volume/moves/apply-changes.ts';
import { settleVolume } from '../volume/moves/settle.ts';
import { UnlinkableError } from '../volume/trees/build-trees.ts';
import { checkReach } from './check-reach.ts';
import { isRecorded, planFromManifest } from './plan-from-manifest.ts';
import { planSync } from './plan-sync.ts';
import { isFull, makeRoom, openContents, pinCommit, provideCommit } from './provide-content.ts';
import { aimOf, recipeOf, type SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';
import { verifyCommit } from './verify-commit.ts';
import { withRemedies } from './with-remedies.ts';

/**
 * Syncs the data volume to the commit and the profile, or plans that in a dry run. A full clone is deleted and fetched
 * again, once.
 */
export async function sync(
  intent: Intent,
  dependencies: SyncDependencies,
  signal: AbortSignal,
  isUnchanged = false,
): Promise<SyncOutcome<'synced' | 'planned'>> {
  for (let rewrites = 0; ; ) {
    try {
      return await withRemedies({ intent, dependencies, signal }, (isRefetch) =>
        attempt(intent, dependencies, { signal, isUnchanged, isRefetch }),
      );
    } catch (error) {
      if (isFull(error)) await makeRoom(intent.commit, error, dependencies);
      else if (error instanceof UnlinkableError && rewrites < MAX_REWRITES) {
        rewrites += 1;
        for (const path of error.paths) dependencies.baseline.unlinkable.add(path);
      } else throw error;
    }
  }
}

/** Maximum number of times that a tree is planned again because the gateway changes files of the previous one. */
const MAX_REWRITES = 3;

async function attempt(
  intent: Intent,
  dependencies: SyncDependencies,
  { signal, ...known }: Pick<SyncAim, 'signal' | 'isRefetch' | 'isUnchanged'>,
): Promise<SyncOutcome<'synced' | 'planned'>> {
  await holdVolume(intent, dependencies);
  dependencies.baseline.onBegin(intent);
  const aim = { ...(await aimOf(intent, dependencies, signal)), ...known };
  const right = await planWithoutGit(aim, dependencies);
  if (right) return await confirm(right, aim, dependencies);
  await provideCommit(aim, dependencies);
  const keys = await verifyCommit(aim, dependencies);
  const { plan, attributes, hasLinks } = await planSync(aim, dependencies);
  if (!intent.profile.dryRun) {
    await bringAbout(plan, { ...aim, keys }, dependencies);
    dependencies.baseline.onSynced(hasLinks ? undefined : recipeOf(aim, dependencies), plan, attributes);
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
  const { root, manifestFile, lock } = dependencies;
  const hasModes = intent.profile.mappings.some(({ mode }) => mode !== undefined);
  const ignoresModes = hasModes && root.traitsBy(await manifestFile.read()).keepsModes !== true;
  if (intent.profile.dryRun) return { kind: 'planned', intent, plan, ignoresModes };
  const pointers = await plainPointers(dependencies);
  return { kind: 'synced', intent, plan, ignoresModes, pointers, lockWeakness: lock.weakness };
}

/** Returns the repository paths of Git LFS pointers that were delivered unchanged because no attribute marks them. */
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

/** Checks whether a sync for the intent needs no git server, without checking the files. */
export async function isAtHand(intent: Intent, dependencies: SyncDependencies): Promise<boolean> {
  const { clone, baseline } = dependencies;
  if (await clone.repository.holds(intent.commit)) return true;
  if (!baseline.isBlank) return false;
  return await isRecorded(await aimOf(intent, dependencies, new AbortController().signal), dependencies);
}

/** A dry run leaves the volume unchanged, except to undo an interrupted sync. */
async function holdVolume({ profile }: Intent, dependencies: SyncDependencies): Promise<void> {
  const { lock, root } = dependencies;
  root.checkPlace();
  checkReach(dependencies, []);
  if (!lock.isHeld) readAgain(dependencies);
  if (profile.dryRun) return await undoForOthers(dependencies);
  await takeVolume(dependencies);
}

/** Takes the volume, and undoes an interrupted sync. */
async function takeVolume(dependencies: SyncDependencies): Promise<void> {
  const { lock, root } = dependencies;
  const isNew = await lock.hold();
  if (!isNew && !hasJournal(root)) return;
  readAgain(dependencies);
  await settleVolume(dependencies);
}

/** Undoes an interrupted sync for an agent that doesn't write: afterwards, others can take the volume as before. */
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

/** Returns the release that is completely in the volume, after undoing an interrupted sync. */
export async function lastGood(dependencies: SyncDependencies): Promise<Applied | undefined> {
  await undoForOthers(dependencies);
  return await dependencies.manifestFile.readApplied();
}

/** Discards caches, because another agent might have changed the volume. */
export function readAgain({ manifestFile, baseline }: SyncDependencies): void {
  manifestFile.forget();
  baseline.forget();
}

/** Carries out the plan, unless there is nothing to change or record. */
async function bringAbout(plan: Plan, aim: SyncAim, dependencies: SyncDependencies): Promise<void> {
  const { intent, manifest, values } = aim;
  const { root, lock, manifestFile, baseline, gateway, log } = dependencies;
  const applied = appliedBy(plan, aim, dependencies);
  const hasChanges = plan.changes.length + plan.publications.length > 0;
  if (!isNoted(applied, manifest.applied) || hasChanges || plan.corrected.length + plan.disowned.length > 0) {
    aim.signal.throwIfAborted();
    // Nothing is staged while a user is editing. Editors who start later are detected before the first file moves.
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

function appliedBy(plan: Plan, aim: SyncAim, dependencies: SyncDependencies): Applied {
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
    unchanged: leavesUnchanged(plan, aim) || undefined,
    volume: isDeepStrictEqual(traits, USUAL_TRAITS) ? undefined : traits,
  };
}

/** Checks whether the release has changed no file of the gateway. Repairs deliver the same files again. */
function leavesUnchanged({ changes }: Plan, { intent, manifest: { applied }, isUnchanged }: SyncAim): boolean {
  const isNoted = applied?.unchanged && applied.commit === intent.commit && applied.revision === intent.revision;
  return (
    Boolean(isNoted || isUnchanged) && changes.every((change) => 'reason' in change && REPAIRS.includes(change.reason))
  );
}

const REPAIRS: readonly string[] = ['Missing', 'Drifted'];

/** Checks whether the manifest already records everything except the time. */
function isNoted(next: Applied, applied: Applied | undefined): boolean {
  return NOTED.every((field) => isDeepStrictEqual(next[field], applied?.[field]));
}

const NOTED = ['ref', 'commit', 'revision', 'startPolicy', 'recipe', 'keys', 'unchanged', 'volume'] as const;

/** Only for the log, so an error has no other effect. */
async function authorOf({ commit }: Intent, { clone, log }: SyncDependencies): Promise<string | undefined> {
  return await clone.author(commit).catch((error) => {
    log.warn({ err: error, commit }, 'author of the commit not read');
    return undefined;
  });
}
