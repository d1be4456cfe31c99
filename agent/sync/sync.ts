import { type RenderedMapping, renderMappings } from '../../shared/domain/render-mappings.ts';
import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { excludeProblems } from '../../shared/domain/validate-profiles.ts';
import { TerminalError } from '../../shared/errors.ts';
import { MissingLfsObjectError } from '../content/content-reader.ts';
import { readLabels } from '../content/read-labels.ts';
import type { Clone } from '../git/clone.ts';
import { tagNameOf } from '../git/fetch-commit.ts';
import { withGitAccess } from '../git/git-access.ts';
import { DamagedCloneError } from '../git/git-stream.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import { templateValues } from '../plan/template-values.ts';
import type { SyncOutcome } from '../report/announcer.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { applyChanges } from '../volume/apply-changes.ts';
import { openContents, planSync, recipeOf, type SyncAim, type SyncDependencies, syncProblems } from './plan-sync.ts';

/** Brings the data volume in line with the commit and the profile, or in a dry run says what that would mean. */
export async function sync(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<SyncOutcome> {
  try {
    return await attempt(intent, dependencies, signal);
  } catch (error) {
    await prepareForAnother(error, intent, dependencies);
    return await attempt(intent, dependencies, signal).catch(async (again) => {
      // Files that were left out may turn out to be pointers.
      await prepareForAnother(again, intent, dependencies);
      return await attempt(intent, dependencies, signal);
    });
  }
}

/** Sees to it that another attempt finds what was missing. Throws the error where that is not what was wrong. */
async function prepareForAnother(error: unknown, intent: Intent, { clone, lfs, log }: SyncDependencies): Promise<void> {
  if (error instanceof MissingLfsObjectError && lfs.expect()) return;
  if (!(error instanceof DamagedCloneError)) throw error;
  log.warn({ err: error }, 'clone cannot be read');
  await clone.recreate(intent.commit);
}

async function attempt(intent: Intent, dependencies: SyncDependencies, signal: AbortSignal): Promise<SyncOutcome> {
  const { clone, identity, manifestFile } = dependencies;
  // A dry run leaves the volume alone, whoever's it is.
  if (!intent.profile.dryRun && (await dependencies.lock.hold())) {
    manifestFile.forget();
    dependencies.baseline.forget();
  }
  const labels = await readLabels(dependencies.labelsFile);
  const values = templateValues({ ...intent, vars: intent.profile.vars, identity, labels });
  const mappings = mappingsOf(intent, values);
  if (!(await clone.has(intent.commit))) await fetch({ intent, mappings, dependencies }, signal);
  await verify(intent, dependencies, signal);
  const manifest = await manifestFile.read();
  const provide = (files: DesiredFile[]) => provideFiles(files, intent, { dependencies, signal });
  const aim = { intent, mappings, manifest, values, provide, signal };
  const plan = await planSync(aim, dependencies);
  if (intent.profile.dryRun) return { kind: 'planned', plan };
  await bringAbout(plan, aim, dependencies);
  if (plan.changes.length === 0) return { kind: 'synced', plan };
  return { kind: 'synced', plan, author: await clone.author(intent.commit) };
}

function mappingsOf({ profile }: Intent, values: TemplateValues): RenderedMapping[] {
  const rendered = renderMappings(profile.mappings, values);
  const problems = [...(rendered.kind === 'problems' ? rendered.problems : []), ...excludeProblems(profile)];
  if (rendered.kind === 'problems' || problems.length > 0) throw syncProblems('ProfileInvalid', problems);
  return rendered.mappings;
}

interface Fetching {
  intent: Intent;
  mappings: RenderedMapping[];
  dependencies: SyncDependencies;
}

async function fetch({ intent, mappings, dependencies }: Fetching, signal: AbortSignal): Promise<void> {
  const started = performance.now();
  const request = { ...intent, isWhole: mappings.some(({ source }) => source === '') };
  await withGitAccess(intent.repo, dependencies.accessFiles, (access) =>
    dependencies.clone.fetch(request, access, signal),
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
  throw syncProblems('SignatureInvalid', [
    `${ref} is no annotated tag of that name on commit ${commit}: it cannot be signed`,
  ]);
}

/** Carries the plan out, unless there is nothing to do and nothing to note. */
async function bringAbout(plan: Plan, aim: SyncAim, dependencies: SyncDependencies): Promise<void> {
  const { intent, manifest, values, provide } = aim;
  const { root, manifestFile, gateway, baseline, log } = dependencies;
  const isApplied = manifest.applied?.commit === intent.commit && manifest.applied.ref === intent.ref;
  if (!isApplied || plan.changes.length + plan.corrected.length + plan.disowned.length > 0) {
    await provide(plan.changes.flatMap((change) => (change.kind === 'delete' ? [] : [change.file])));
    if (plan.changes.length > 0) await gateway.beforeChange(intent);
    const target = { root, manifestFile, openContents: () => openContents(dependencies), values, log };
    const applied = { ref: intent.ref, commit: intent.commit, time: new Date().toISOString() };
    await applyChanges(plan, target, applied).catch((error) => {
      baseline.forget();
      throw error;
    });
  }
  baseline.onSynced(recipeOf(aim));
}

/**
 * Fetches the content of files that is not on disk, each kind of it at once: what the host was asked to leave out, and
 * what is in Git LFS.
 */
async function provideFiles(
  files: DesiredFile[],
  intent: Intent,
  { dependencies, signal }: { dependencies: SyncDependencies; signal: AbortSignal },
): Promise<void> {
  const { clone, lfs, accessFiles } = dependencies;
  const { repo } = intent;
  const blobs = files.map(({ blob }) => blob);
  const missing = await clone.missing(blobs);
  if (missing.length > 0) {
    await withGitAccess(repo, accessFiles, (access) => clone.fetchBlobs(intent, missing, { access, signal }));
  }
  if (!lfs.isExpected) return;
  const pointers = await lfs.missing(await clone.pointers(blobs));
  if (pointers.length === 0) return;
  await withGitAccess(repo, accessFiles, (access) => lfs.fetch(pointers, { ...intent, access, signal }));
}
