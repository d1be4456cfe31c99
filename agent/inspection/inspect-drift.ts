import { type Answer, INSPECTION, type LeftOut, type Question } from '../../shared/api/inspection.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { withGitAccess } from '../git/git-access.ts';
import type { Applied, Manifest } from '../plan/manifest.ts';
import { MemoryBudget } from '../plan/memory-budget.ts';
import type { DesiredTree } from '../plan/plan-input.ts';
import { scanRoots } from '../volume/scan/scan-roots.ts';
import { scanTree } from '../volume/scan/scan-tree.ts';
import type { DataRoot } from '../volume/state/data-root.ts';
import { addContents, type Candidate, whyHidden } from './contents.ts';
import { type DriftedFile, driftOf } from './drift-of.ts';
import { type InspectionScope, notComplete, withLookup } from './inspection-scope.ts';
import { findNewFiles } from './new-files.ts';

const NOTHING: DesiredTree = { files: new Map(), directories: new Set(), retained: new Set() };

/** Finds files that differ from the delivered ones, with their content in git and on disk. */
export async function inspectDrift(
  { withNew = false }: Pick<Question, 'withNew'>,
  { resource, dependencies, signal }: InspectionScope,
): Promise<Answer> {
  const manifest = await dependencies.manifestFile.read();
  const applied = await dependencies.manifestFile.readApplied();
  if (!applied) throw notComplete();
  const algorithm = applied.commit.length === 64 ? 'sha256' : 'sha1';
  const live = await scanTree(dependencies.root, { desired: NOTHING, manifest, algorithm, signal });
  const links = await driftedLinks(manifest, dependencies.root);
  const all = driftOf(manifest, live);
  const drifted = all.slice(0, INSPECTION.changes - links.length);
  const { ref, commit } = applied;
  const room = INSPECTION.changes - links.length - drifted.length;
  const added = withNew ? await findNewFiles(room, { resource, dependencies, signal }) : { changes: [], more: 0 };
  const more = all.length - drifted.length + added.more;
  return await withLookup(commit, { resource, dependencies, signal }, async (scope) => {
    await fetchMissing(drifted, applied, scope);
    const own = resource.spec.git.submodules ? await ownFiles(drifted, applied, scope) : undefined;
    const candidates = drifted.map((file): Candidate => {
      const isOwn = own === undefined || own.has(file.record.source);
      return candidateOf(file, isOwn ? undefined : 'submodule');
    });
    const changes = await addContents([...links, ...candidates], scope.dependencies, signal);
    return { ref, commit, changes: [...changes, ...added.changes], more };
  });
}

/** Links to trees that were removed or replaced. Their files are unchanged, but programs don't find them. */
async function driftedLinks(manifest: Manifest, root: DataRoot): Promise<Candidate[]> {
  const live = await scanRoots(root, manifest.trees.keys(), manifest);
  const candidates: Candidate[] = [];
  for (const [path, { tree }] of manifest.trees) {
    const entry = live.get(path);
    if (entry?.kind === 'link' && entry.tree === tree) continue;
    const isMissing = entry === undefined || entry.kind === 'absent';
    const [kind, reason] = isMissing ? (['delete', 'Missing'] as const) : (['modify', 'Drifted'] as const);
    candidates.push({ change: { path, kind, reason }, before: undefined, after: undefined, leftOut: 'noFile' });
  }
  return candidates.slice(0, INSPECTION.changes);
}

function candidateOf({ record, reason, live }: DriftedFile, leftOut: LeftOut | undefined): Candidate {
  const { path, source, blob, executable, mode, lfs = false } = record;
  const isFile = live?.kind === 'file';
  return {
    change: withoutUndefined({
      path,
      source,
      reason,
      kind: live ? ('modify' as const) : ('delete' as const),
      before: withoutUndefined({ executable, mode }),
      after: isFile ? withoutUndefined({ executable: live.executable, mode: mode && live.mode }) : undefined,
    }),
    before: { kind: 'blob', blob, isInLfs: lfs },
    after: isFile ? { kind: 'disk', path } : undefined,
    leftOut: whyNot(record) ?? (live && !isFile ? 'noFile' : leftOut),
  };
}

/** A patched file isn't the one in git. */
function whyNot(record: DriftedFile['record']): LeftOut | undefined {
  return whyHidden(record) ?? (record.patches === undefined ? undefined : 'patched');
}

/** Fetches delivered content that a recreated clone lacks. If the server is unavailable, leaves the content out. */
async function fetchMissing(
  drifted: readonly DriftedFile[],
  { ref, commit }: Applied,
  { resource, dependencies, signal }: InspectionScope,
): Promise<void> {
  const { clone, accessFiles, log } = dependencies;
  const small = drifted.filter(
    ({ record }) => whyNot(record) === undefined && record.fingerprint.size <= INSPECTION.fileBytes,
  );
  const blobs = small.slice(0, INSPECTION.files).map(({ record }) => record.blob);
  const sizes = await clone.sizes(blobs);
  const missing = [...new Set(blobs.filter((blob) => sizes.get(blob) === undefined))];
  if (missing.length === 0) return;
  const { repo, auth } = resource.spec.git;
  const ignoresHostKey = auth?.sshKey?.insecureIgnoreHostKey ?? false;
  await withGitAccess({ repo, ignoresHostKey, signal }, accessFiles, (access) =>
    clone.fetchBlobsById({ repo, ref, commit }, missing, { access, signal }),
  ).catch((error) => {
    signal.throwIfAborted();
    log.warn({ err: error }, 'content of files not fetched for an inspection');
  });
}

/** Returns the sources that are files of the repository itself. */
async function ownFiles(
  drifted: readonly DriftedFile[],
  { commit }: Applied,
  { dependencies: { clone, heapBytes, manifestFile }, signal }: InspectionScope,
): Promise<ReadonlySet<string>> {
  const sources = drifted.slice(0, INSPECTION.files).map(({ record }) => record.source);
  if (sources.length === 0) return new Set();
  const { take } = new MemoryBudget(heapBytes, { manifest: await manifestFile.read() });
  const tree = await clone.list({ commit, sources, signal }, take).catch(() => []);
  return new Set(tree.flatMap(({ kind, path }) => (kind === 'file' ? [path] : [])));
}
