import type { TemplateValues } from '../shared/domain/render-template.ts';
import { TerminalError } from '../shared/errors.ts';
import type { Logger } from '../shared/log.ts';
import { type DesiredTree, desiredTree } from './domain/desired-tree.ts';
import { excludeFilter } from './domain/exclude-filter.ts';
import { isUnchanged } from './domain/is-unchanged.ts';
import type { Intent } from './domain/judge-resource.ts';
import type { Manifest, OwnedFile } from './domain/manifest.ts';
import { type Plan, planChanges } from './domain/plan-changes.ts';
import { type RenderedMapping, renderMappings } from './domain/render-mappings.ts';
import { type Identity, templateValues } from './domain/template-values.ts';
import type { FullChecks } from './full-checks.ts';
import type { Gateway } from './gateway.ts';
import { applyChanges } from './io/apply-changes.ts';
import type { Clone } from './io/clone.ts';
import { DamagedCloneError } from './io/damaged-clone-error.ts';
import type { DataRoot } from './io/data-root.ts';
import { tagNameOf } from './io/fetch-commit.ts';
import { type AccessFiles, withGitAccess } from './io/git-access.ts';
import type { ManifestFile } from './io/manifest-file.ts';
import { readLabels } from './io/read-labels.ts';
import { scanTree } from './io/scan-tree.ts';
import type { Signatures } from './io/signatures.ts';
import type { VolumeLock } from './io/volume-lock.ts';

export interface SyncDependencies {
  identity: Identity;
  labelsFile: string | undefined;
  clone: Clone;
  accessFiles: AccessFiles;
  signatures: Signatures;
  root: DataRoot;
  manifestFile: ManifestFile;
  gateway: Gateway;
  checks: FullChecks;
  lock: VolumeLock;
  log: Logger;
  /** Told how long each fetch took, in seconds. */
  onFetch: (seconds: number) => void;
}

/** What a sync came to: the files are as they must be, or (dry run) it is known what would be done. */
export interface SyncOutcome {
  kind: 'synced' | 'planned';
  plan: Plan;
  /** Who wrote the commit, where something was changed for it. */
  author?: string;
}

/** Brings the data volume in line with the commit and the profile, or in a dry run says what that would mean. */
export async function sync(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<SyncOutcome> {
  try {
    return await attempt(intent, dependencies, signal);
  } catch (error) {
    if (!(error instanceof DamagedCloneError)) throw error;
    dependencies.log.warn({ err: error }, 'clone cannot be read');
    await dependencies.clone.recreate(intent.commit);
    return await attempt(intent, dependencies, signal);
  }
}

async function attempt(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<SyncOutcome> {
  const { clone, identity, root, manifestFile } = dependencies;
  // A dry run leaves the volume alone, whoever's it is.
  if (!intent.profile.dryRun && (await dependencies.lock.hold())) manifestFile.forget();
  const labels = await readLabels(dependencies.labelsFile);
  const values = templateValues({ ...intent, vars: intent.profile.vars, identity, labels });
  const mappings = mappingsOf(intent, values);
  if (!(await clone.has(intent.commit))) await fetch(intent, dependencies, signal);
  await verify(intent, dependencies, signal);
  const manifest = await manifestFile.read();
  const desired = await desiredOf(intent, { clone, mappings, manifest });
  const algorithm = intent.commit.length === 64 ? 'sha256' : 'sha1';
  const isQuick = dependencies.checks.mayBeQuick(intent, manifest);
  const isTrusted = isQuick ? (file: OwnedFile) => isUnchanged(desired.files.get(file.path), file) : () => false;
  const live = await scanTree(root, { desired: desired.files.keys(), manifest, isTrusted, algorithm });
  const result = planChanges({ desired, manifest, live, values });
  if (result.kind === 'conflicts') throw problems('PathConflict', result.conflicts);
  if (intent.profile.dryRun) return { kind: 'planned', plan: result.plan };
  await bringAbout(result.plan, { intent, values, dependencies });
  if (!isQuick) dependencies.checks.onFullCheck();
  if (result.plan.changes.length === 0) return { kind: 'synced', plan: result.plan };
  return { kind: 'synced', plan: result.plan, author: await clone.author(intent.commit) };
}

function mappingsOf({ profile }: Intent, values: TemplateValues): RenderedMapping[] {
  const rendered = renderMappings(profile.mappings, values);
  if (rendered.kind === 'problems') throw problems('ProfileInvalid', rendered.problems);
  return rendered.mappings;
}

async function fetch(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<void> {
  const started = performance.now();
  await withGitAccess(intent.repo, dependencies.accessFiles, (access) =>
    dependencies.clone.fetch(intent, access, signal),
  );
  dependencies.onFetch((performance.now() - started) / 1000);
}

/** Throws unless what must be signed is signed, and, in the case of a tag, is the tag that was asked for. */
async function verify(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<void> {
  const { clone, signatures, accessFiles } = dependencies;
  const { commit, ref, repo } = intent;
  if (intent.verify === 'none') return;
  if (intent.verify === 'head') return await signatures.check({ kind: 'commit', id: commit, name: commit });
  const isWanted = (tag: Awaited<ReturnType<Clone['tag']>>) => tag?.commit === commit && tag.name === tagNameOf(ref);
  if (!isWanted(await clone.tag())) {
    await withGitAccess(repo, accessFiles, (access) => clone.fetchTag(intent, access, signal)).catch((error) => {
      if (!(error instanceof TerminalError && error.code === 'git.refNotFound')) throw error;
    });
  }
  const tag = await clone.tag();
  if (tag && isWanted(tag)) return await signatures.check({ kind: 'tag', id: tag.id, name: tag.name });
  throw problems('SignatureInvalid', [
    `${ref} is no annotated tag of that name on commit ${commit}: it cannot be signed`,
  ]);
}

interface TreeInput {
  clone: Clone;
  mappings: RenderedMapping[];
  manifest: Manifest;
}

async function desiredOf({ commit, profile }: Intent, { clone, mappings, manifest }: TreeInput): Promise<DesiredTree> {
  const sources = mappings.map(({ source }) => source);
  const entries = await clone.tree(commit, sources);
  const isExcluded = excludeFilter(profile.excludePatterns);
  const result = desiredTree({ mappings, entries, isExcluded, owned: manifest.files });
  if (result.kind === 'problems') throw problems('ProfileInvalid', result.problems);
  return result.tree;
}

interface Bringing {
  intent: Intent;
  values: TemplateValues;
  dependencies: SyncDependencies;
}

async function bringAbout(plan: Plan, { intent, values, dependencies }: Bringing): Promise<void> {
  const { root, manifestFile, clone, gateway, log } = dependencies;
  const { applied } = await manifestFile.read();
  const isApplied = applied?.commit === intent.commit && applied.ref === intent.ref;
  if (isApplied && plan.changes.length === 0 && !plan.recordsChanged) return;
  if (plan.changes.length > 0) await gateway.beforeChange(intent);
  const target = { root, manifestFile, openBlobs: () => clone.blobs(), values, log };
  await applyChanges(plan, target, { ref: intent.ref, commit: intent.commit, time: new Date().toISOString() });
}

function problems(reason: string, list: string[]): TerminalError {
  const shown = list.slice(0, 5).join('; ');
  const more = list.length > 5 ? `; and ${list.length - 5} more` : '';
  return new TerminalError(`${shown}${more}`, { code: `sync.${reason}`, reason });
}
