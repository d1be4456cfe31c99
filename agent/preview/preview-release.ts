import type { GatewayPreview } from '../../shared/api/sync-report.ts';
import { MAX_PROBLEMS, type Problem, TerminalError, WaitingError } from '../../shared/errors.ts';
import { linkHash } from '../plan/links/kept-link.ts';
import { emptyManifest, type Manifest, type OwnedFile } from '../plan/manifest.ts';
import type { DesiredFile, PreviewedContents } from '../plan/plan-input.ts';
import { type PreviewedPlan, summarizePreview, summarizeProblems } from '../plan/summarize-preview.ts';
import { treeRoots } from '../plan/trees.ts';
import type { PreviewTask } from '../resource/judge-preview.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { Baseline } from '../sync/baseline.ts';
import { checkFiles } from '../sync/check-files.ts';
import { readAgainUnlessHeld } from '../sync/hold-volume.ts';
import { determineContents, layOut, planEverything } from '../sync/plan-sync.ts';
import { provideCandidate } from '../sync/provide-content.ts';
import { aimOf, recipeOf, type SyncAim, syncProblems } from '../sync/sync-aim.ts';
import type { SyncDependencies } from '../sync/sync-dependencies.ts';
import { verifyCommit } from '../sync/verify-commit.ts';
import { withRemedies } from '../sync/with-remedies.ts';
import { hasJournal } from '../volume/manifest/journal.ts';

/** Reasons of the release itself or of its conflicts with the volume, which a retry can't resolve. */
const PROBLEMS: readonly string[] = [
  'CheckFailed',
  'ContentInvalid',
  'NameCollision',
  'NothingLeft',
  'PathConflict',
  'ProfileInvalid',
  'SignatureInvalid',
  'SubmoduleInvalid',
  'TakenOverFull',
  'TooManyFiles',
];

type Attempted<T> = { kind: 'done'; result: T } | { kind: 'failed'; problems: readonly Problem[] };

interface Scope {
  dependencies: SyncDependencies;
  /** The files that the gateway has. */
  base: Manifest;
  /** Whether the release repairs files that the current one leaves. */
  startsRepairs?: boolean;
  signal: AbortSignal;
}

/**
 * Plans a release without changing the data volume: compared with the files that were delivered last, or with those of
 * the stable release if there are none. If the stable release is unknown, every problem is one of this release. Throws
 * errors that might pass.
 */
export async function previewRelease(
  task: PreviewTask,
  given: SyncDependencies,
  signal: AbortSignal,
): Promise<GatewayPreview> {
  const { commit, revision, candidate, stable } = task;
  readAgainUnlessHeld(given);
  if (hasJournal(given.root)) throw interrupted();
  const dependencies = { ...given, baseline: new Baseline() };
  const base = await baseOf(stable, dependencies, signal);
  const scope = { dependencies, base, signal };
  const startsRepairs = repairs(candidate) && !repairs(stable);
  const planned = await plan(candidate, { ...scope, startsRepairs });
  if (planned.kind === 'done') return { commit, revision, ...summarizePreview(planned.result) };
  const before = stable === undefined ? undefined : await plan(stable, scope);
  const known = before?.kind === 'failed' ? before.problems : [];
  return { commit, revision, ...summarizeProblems(planned.problems, newProblem(planned.problems, known)) };
}

const repairs = (intent: PreviewTask['stable']) => typeof intent === 'object' && intent.profile.drift === 'repair';

const interrupted = () =>
  new WaitingError('a sync was interrupted, and must be undone before a preview', {
    code: 'preview.interrupted',
    reason: 'Pending',
    retryAfterMs: 1_000,
  });

/** A stable release that can't be delivered leaves an empty volume empty. */
async function baseOf(
  stable: PreviewTask['stable'],
  dependencies: SyncDependencies,
  signal: AbortSignal,
): Promise<Manifest> {
  const manifest = await dependencies.manifestFile.read();
  if (manifest.applied || typeof stable !== 'object') return manifest;
  const scope = { dependencies, base: emptyManifest(), signal };
  const planned = await plan(stable, scope);
  if (planned.kind === 'failed') return manifest;
  const after = await attempt(stable, scope, (aim) => manifestAfter(aim, dependencies));
  return after.kind === 'done' ? after.result : manifest;
}

async function plan(intent: Intent | string, scope: Scope): Promise<Attempted<PreviewedPlan>> {
  if (typeof intent === 'string') return { kind: 'failed', problems: [{ key: 'NoProfile', message: intent }] };
  const { dependencies } = scope;
  return await attempt(intent, scope, async (aim) => {
    const { result, desired, contents } = await planEverything(aim, dependencies);
    if (result.kind === 'refused') throw syncProblems(result.reason, result.problems);
    await checkFiles(result.plan, desired, aim, dependencies);
    const { commit } = intent;
    return { plan: result.plan, contents, commit, tree: await dependencies.clone.treeId(commit) };
  });
}

/** Fetches the directories of a release, and checks its signature before any of its files is read. */
async function attempt<T>(intent: Intent, scope: Scope, run: (aim: SyncAim) => Promise<T>): Promise<Attempted<T>> {
  const { dependencies, base: manifest, startsRepairs = false, signal } = scope;
  try {
    const result = await withRemedies({ intent, dependencies, signal }, async (isRefetch) => {
      const own = await aimOf(intent, dependencies, signal);
      const aim = { ...own, manifest, isPreview: true, startsRepairs, isRefetch };
      await provideCandidate(aim, dependencies);
      await verifyCommit(aim, dependencies);
      return await run(aim);
    });
    return { kind: 'done', result };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof TerminalError) || !PROBLEMS.includes(error.reason)) throw error;
    const { reason, problems } = error;
    return { kind: 'failed', problems: problems.map(({ key, message }) => ({ key: `${reason} ${key}`, message })) };
  }
}

/**
 * Returns the first problem that isn't known. A list of the maximum length is incomplete, so any of the same reason may
 * be known.
 */
function newProblem(problems: readonly Problem[], known: readonly Problem[]): Problem | undefined {
  if (known.length >= MAX_PROBLEMS && reasonOf(problems) === reasonOf(known)) return undefined;
  const keys = new Set(known.map(({ key }) => key));
  return problems.find(({ key }) => !keys.has(key));
}

/** A release has problems of one reason, with which their keys begin. */
const reasonOf = ([first]: readonly Problem[]): string | undefined => first?.key.split(' ')[0];

/** Returns the manifest that the volume will have after a sync of a release. */
async function manifestAfter(aim: SyncAim, dependencies: SyncDependencies): Promise<Manifest> {
  const { intent, mappings } = aim;
  const { desired } = await layOut(aim, dependencies);
  const rendered = [...desired.files.values()].filter(({ template, patches }) => template || patches);
  const contents = await determineContents(rendered, aim, dependencies);
  const files = new Map<string, OwnedFile>();
  for (const file of desired.files.values()) files.set(file.path, recordOf(file, contents, aim));
  const { ref, commit } = intent;
  return {
    applied: { ref, commit, time: '', recipe: recipeOf(aim, dependencies) },
    files,
    directories: desired.directories,
    trees: new Map(treeRoots(mappings).map((path) => [path, { tree: commit }])),
    journal: undefined,
  };
}

/** The hash of files that aren't rendered is unknown: their content has git's ID. */
function recordOf(file: DesiredFile, contents: PreviewedContents, { intent }: SyncAim): OwnedFile {
  const { path, source, link, blob, executable, mode, lfs, patches, linkText } = file;
  const { sha256 = '', inputs } = contents.get(path) ?? {};
  if (linkText !== undefined)
    return { path, source, blob, symlink: true, sha256: linkHash(linkText), executable, fingerprint: NO_FINGERPRINT };
  const { groupWrite } = intent.profile;
  const settings = { link, mode, inputs, patches: patches?.hash, lfs: Boolean(lfs), groupWrite };
  return { path, source, blob, sha256, executable, fingerprint: NO_FINGERPRINT, ...settings };
}

const NO_FINGERPRINT = { size: 0, mtimeMs: 0, ino: 0 };
