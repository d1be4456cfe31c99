import { isDeepStrictEqual } from 'node:util';
import type { Applied } from '../plan/manifest.ts';
import { usedShare } from '../plan/overflow.ts';
import type { Plan } from '../plan/plan-changes.ts';
import { USUAL_TRAITS } from '../plan/volume-traits.ts';
import type { SyncOutcome } from '../report/sync-outcome.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { hasJournal } from '../volume/manifest/journal.ts';
import { applyChanges } from '../volume/moves/apply-changes.ts';
import { takenOverExtent } from '../volume/scan/extent-of.ts';
import { UnlinkableError } from '../volume/trees/build-trees.ts';
import { checkFiles } from './check-files.ts';
import { holdVolume } from './hold-volume.ts';
import { isRecorded, planFromManifest } from './plan-from-manifest.ts';
import { planSync } from './plan-sync.ts';
import { isFull, makeRoom, openContents, pinCommit, provideCommit } from './provide-content.ts';
import { aimOf, recipeOf, type SyncAim } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';
import { verifyCommit } from './verify-commit.ts';
import { withRemedies } from './with-remedies.ts';

// A sync, step by step, from a change of the resource to the report. Its types, and where they are made:
//
//   WatchedResource   the fields of the GatewaySync that the agent uses                 resource/watch-resource.ts
//   Verdict           whether to act, with a reason if not                              resource/judge-resource.ts
//   Intent            a commit and a profile that belong together                       resource/judge-resource.ts
//   SyncAim           the intent with rendered mappings, template values, manifest      sync/sync-aim.ts
//   Plan              the changes of files and directories that achieve it              plan/plan-changes.ts
//   Move              one step on the disk; the journal lists all before the first      volume/moves/list-moves.ts
//   ManifestUpdate    the records of files that change with the plan                    plan/next-manifest.ts
//   Applied           the release that the manifest records as delivered                here
//   SyncOutcome       what the sync has done                                            here
//   Finding           the part of the outcome that the report shows, if it is new       report/announcement-of.ts
//
// `sync-job.ts` decides when a sync is due. It also takes the last two steps, because a sync that the resource no longer
// wants skips them: it notifies the gateway and begins to verify its health, and announces the outcome
// (report/announcer.ts), which report/reports.ts writes in the background.

/** Result of a sync or a dry run. */
export type Synced = SyncOutcome<'synced' | 'planned'>;

/** Maximum number of times that a tree is planned again because the gateway changes files of the previous one. */
const MAX_REWRITES = 3;

/**
 * Syncs the data volume to the commit and the profile, or plans that in a dry run. Takes all steps again after a remedy:
 * a commit that can't be read is fetched again, a damaged or full clone is made again (each once), and a file that can't
 * be linked to is written.
 */
export async function sync(
  intent: Intent,
  dependencies: SyncDependencies,
  signal: AbortSignal,
  isUnchanged = false,
): Promise<Synced> {
  for (let rewrites = 0; ; ) {
    try {
      return await withRemedies({ intent, dependencies, signal }, (isRefetch) =>
        takeSteps(intent, dependencies, { signal, isUnchanged, isRefetch }),
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

async function takeSteps(
  intent: Intent,
  dependencies: SyncDependencies,
  { signal, ...known }: Pick<SyncAim, 'signal' | 'isRefetch' | 'isUnchanged'>,
): Promise<Synced> {
  await holdVolume(intent, dependencies);
  if (!intent.profile.dryRun) await dependencies.gateway.checkRole(intent, signal);
  dependencies.baseline.onBegin(intent);
  const aim = { ...(await aimOf(intent, dependencies, signal)), ...known };
  const delivered = await planIfDelivered(aim, dependencies);
  if (delivered) return await recordDelivered(delivered, aim, dependencies);
  await provideCommit(aim, dependencies);
  const keys = await verifyCommit(aim, dependencies);
  const { plan, desired, attributes, hasLinks, hasCheckedAll } = await planSync(aim, dependencies);
  if (hasCheckedAll && !intent.profile.dryRun) dependencies.baseline.onCheck();
  await checkFiles(plan, desired, aim, dependencies);
  if (!intent.profile.dryRun) {
    await deliver(plan, { ...aim, keys }, dependencies);
    const recipe = hasLinks ? undefined : recipeOf(aim, dependencies);
    dependencies.baseline.onSynced(recipe, plan, attributes);
  }
  await pinCommit(intent, dependencies);
  return { ...(await outcomeOf(plan, intent, dependencies)), ignored: attributes.ignored };
}

async function outcomeOf(
  plan: Plan,
  intent: Intent,
  dependencies: Pick<SyncDependencies, 'root' | 'manifestFile' | 'lock' | 'onTakenOver'>,
): Promise<Synced> {
  const { root, manifestFile, lock, onTakenOver } = dependencies;
  const hasModes = intent.profile.mappings.some(({ mode }) => mode !== undefined);
  const ignoresModes = hasModes && root.traitsBy(await manifestFile.read()).keepsModes !== true;
  const takenOver = plan.takenOver ?? (await takenOverExtent(root));
  onTakenOver(usedShare(takenOver));
  if (intent.profile.dryRun) return { kind: 'planned', intent, plan, ignoresModes, takenOver };
  const pointers = await plainPointers(dependencies);
  return { kind: 'synced', intent, plan, ignoresModes, takenOver, pointers, lockWeakness: lock.weakness };
}

/** Returns the repository paths of Git LFS pointers that were delivered unchanged because no attribute marks them. */
async function plainPointers({ manifestFile }: Pick<SyncDependencies, 'manifestFile'>): Promise<string[]> {
  const { files } = await manifestFile.read();
  const pointers: string[] = [];
  for (const { source, lfs } of files.values()) if (lfs === false) pointers.push(source);
  return pointers;
}

/**
 * Makes a plan for files that are right already, while the clone lacks the commit, as in a new pod. The first sync of an
 * agent doesn't fetch it then: the gateway can start. Later ones do, for repairs and rollbacks, and succeed without it as well.
 */
async function planIfDelivered(aim: SyncAim, dependencies: SyncDependencies): Promise<Plan | undefined> {
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

/** Records files that are right already. */
async function recordDelivered(plan: Plan, aim: SyncAim, dependencies: SyncDependencies): Promise<Synced> {
  const { intent, manifest } = aim;
  if (!intent.profile.dryRun) {
    await deliver(plan, { ...aim, keys: manifest.applied?.keys }, dependencies);
    dependencies.baseline.onConfirmed(plan);
  }
  return { ...(await outcomeOf(plan, intent, dependencies)), isWithoutGit: true };
}

/** Checks whether a sync for the intent needs no git server, without checking the files. */
export async function isAtHand(
  intent: Intent,
  dependencies: Pick<
    SyncDependencies,
    'clone' | 'baseline' | 'mounts' | 'signatures' | 'identity' | 'labelsFile' | 'manifestFile'
  >,
): Promise<boolean> {
  const { clone, baseline } = dependencies;
  if (await clone.repository.holds(intent.commit)) return true;
  if (!baseline.isBlank) return false;
  return await isRecorded(await aimOf(intent, dependencies, new AbortController().signal), dependencies);
}

/** Stages the files, publishes them, and records them, unless there is nothing to change or record. */
async function deliver(plan: Plan, aim: SyncAim, dependencies: SyncDependencies): Promise<void> {
  const { intent, manifest, values, signal } = aim;
  const { root, lock, manifestFile, baseline, gateway, verifier, log } = dependencies;
  const applied = appliedBy(plan, aim, dependencies);
  const hasChanges = plan.changes.length + plan.publications.length > 0;
  const hasRecords = plan.corrected.length + plan.disowned.length > 0 || !isNoted(applied, manifest.applied);
  if (!hasChanges && !hasRecords) return;
  signal.throwIfAborted();
  // Nothing is staged while a user is editing. Editors who start later are detected before the first file moves.
  const paths = [...plan.changes, ...plan.publications].map(({ path }) => path);
  if (hasChanges) await gateway.checkEditors(intent, paths, signal);
  const beforeMoves = async () => {
    await gateway.beforeChange(intent, paths, signal);
    verifier.beforeChange(intent);
  };
  const target = {
    root,
    lock,
    manifestFile,
    openContents: () => openContents(aim, dependencies),
    beforeMoves: hasChanges ? beforeMoves : undefined,
    values,
    groupWrite: intent.profile.groupWrite,
    log,
    signal,
  };
  try {
    await applyChanges(plan, target, applied);
  } catch (error) {
    baseline.forget();
    // The next sync undoes a change that is still in the journal.
    if (!hasJournal(root)) await gateway.onUndone(intent, signal);
    throw error;
  } finally {
    gateway.onChanged();
  }
}

function appliedBy(plan: Plan, aim: SyncAim, dependencies: Pick<SyncDependencies, 'root' | 'mounts'>): Applied {
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
