import { type Answer, INSPECTION, type LeftOut, type Question } from '../../shared/api/inspection.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { withGitAccess } from '../git/git-access.ts';
import type { Manifest, OwnedFile } from '../plan/manifest.ts';
import type { Change } from '../plan/plan-changes.ts';
import type { DesiredFile, LiveEntry } from '../plan/plan-input.ts';
import { linkChanges } from '../plan/publication.ts';
import { type Intent, intentOf } from '../resource/judge-resource.ts';
import { viewProfile } from '../resource/stored-syncs.ts';
import { checkFiles } from '../sync/check-files.ts';
import { planEverything } from '../sync/plan-sync.ts';
import { aimOf, type SyncAim, syncProblems } from '../sync/sync-aim.ts';
import type { SyncDependencies } from '../sync/sync-dependencies.ts';
import { verifyCommit } from '../sync/verify-commit.ts';
import { addContents, type Candidate, isPrivate } from './contents.ts';
import { type InspectionScope, noProfile, withLookup } from './inspection-scope.ts';

/** Determines the length of IDs if nothing is known about the repository. */
const USUAL_ID = '0'.repeat(40);

/** Determines the changes that a sync of a ref would make with the current spec. */
export async function inspectDiff({ ref = '', commit: expected }: Question, scope: InspectionScope): Promise<Answer> {
  const { resource, dependencies } = scope;
  const { identity, manifestFile } = dependencies;
  const { profile, names } = viewProfile(resource.spec.sync, identity.profile);
  if (!profile) throw noProfile(identity.profile, names);
  const { applied } = await manifestFile.read();
  const like = resource.commit ?? applied?.commit ?? expected ?? USUAL_ID;
  const intent = intentOf(resource, { ...profile, dryRun: false }, { ref, commit: like });
  return await withLookup(like, scope, (lookup) => diffOf(intent, expected, lookup));
}

async function diffOf(
  intent: Intent,
  expected: string | undefined,
  { dependencies, signal }: InspectionScope,
): Promise<Answer> {
  const { mappings } = await aimOf(intent, dependencies, signal);
  const isWhole = mappings.some(({ source }) => source === '');
  const commit = await withGitAccess({ ...intent, signal }, dependencies.accessFiles, (access) =>
    dependencies.clone.fetchRef({ ...intent, commit: expected, isWhole }, { access, signal }),
  );
  const aim = await aimOf({ ...intent, commit }, dependencies, signal);
  await verifyCommit(aim, dependencies);
  return { ref: intent.ref, commit, ...(await changesOf(aim, dependencies)) };
}

async function changesOf(aim: SyncAim, dependencies: SyncDependencies): Promise<Pick<Answer, 'changes' | 'more'>> {
  const { result, desired } = await planEverything(aim, dependencies);
  if (result.kind === 'refused') throw syncProblems(result.reason, result.problems);
  await checkFiles(result.plan, desired, aim, dependencies);
  const { changes: files } = result.plan;
  const links = linkChanges(result.plan);
  const candidates = [
    ...links.map((change): Candidate => ({ change, before: undefined, after: undefined, leftOut: 'noFile' })),
    ...files.slice(0, INSPECTION.changes).map((change) => candidateOf(change, aim.manifest)),
  ].slice(0, INSPECTION.changes);
  const changes = await addContents(candidates, dependencies, aim.signal);
  return { changes, more: links.length + files.length - candidates.length };
}

function candidateOf(change: Change, { files }: Manifest): Candidate {
  const { kind, path, reason } = change;
  const file = 'file' in change ? change.file : undefined;
  const record = files.get(path);
  const source = file?.source ?? record?.source;
  const existing = 'existing' in change ? change.existing : undefined;
  const isSet = file?.mode !== undefined || record?.mode !== undefined;
  const before = existing?.kind === 'file' ? sideOf(existing, isSet) : undefined;
  const leftOut = whyNot(change, { file, existing, isOurs: record !== undefined && !record.found });
  return {
    change: withoutUndefined({ path, kind, reason, source, before, after: file && sideOf(file, isSet) }),
    before: before && { kind: 'disk', path },
    after: file && { kind: 'blob', blob: file.blob, isInLfs: file.lfs === true },
    leftOut: leftOut ?? whyNotRecorded(record),
  };
}

/** Returns the mode of a file; all bits only if a mapping sets them. */
const sideOf = ({ executable, mode }: Pick<DesiredFile, 'executable' | 'mode'>, isSet: boolean) =>
  withoutUndefined({ executable, mode: isSet ? mode : undefined });

interface Circumstances {
  file: DesiredFile | undefined;
  existing: LiveEntry | undefined;
  /** Whether the agent wrote the existing file. */
  isOurs: boolean;
}

/** Never shows values of templates or files of others. */
function whyNot({ reason }: Change, { file, existing, isOurs }: Circumstances): LeftOut | undefined {
  if (file?.linkText !== undefined || (existing?.kind === 'file' && existing.symlink)) return 'noFile';
  if (file?.template) return 'template';
  if (file?.patches) return 'patched';
  if (reason === 'TakenOver' || (existing?.kind === 'file' && !isOurs)) return 'foreign';
  return existing && existing.kind !== 'file' ? 'noFile' : undefined;
}

/** Never shows a rendered or patched file on disk, or one that a mapping made private, whatever its mode is now. */
function whyNotRecorded(record: OwnedFile | undefined): LeftOut | undefined {
  if (record?.inputs !== undefined || record?.patches !== undefined) return 'template';
  return isPrivate(record) ? 'secret' : undefined;
}
