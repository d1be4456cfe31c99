import { createHash } from 'node:crypto';
import { BOUNDS } from '../../shared/api/bounds.ts';
import type { GatewayPreview } from '../../shared/api/sync-report.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { truncate } from '../../shared/domain/text/text.ts';
import type { Problem } from '../../shared/errors.ts';
import type { Change, Plan } from './plan-changes.ts';
import type { DesiredFile, PreviewedContents } from './plan-input.ts';
import { linkChanges } from './publication.ts';
import { countFiles, describeChanges } from './summarize-plan.ts';

/** A plan with the content of rendered files. */
export interface PreviewedPlan {
  plan: Plan;
  contents: PreviewedContents;
  commit: string;
  /** Git's ID of the commit's tree. Only readers of the repository have it. */
  tree: string;
}

type Summary = Omit<GatewayPreview, 'commit' | 'revision'>;

/** Digest of a plan without changes. */
const UNCHANGED = digestOf([]);

/** Whether a preview shows that the release changes no file. */
export const isUnchanged = ({ digest }: Pick<GatewayPreview, 'digest'>): boolean => digest === UNCHANGED;

/** Whether a preview shows that the release can't be delivered, even if the stable one has the same problem. */
export const hasProblem = (preview: Summary): boolean =>
  !isUnchanged(preview) && preview.added + preview.modified + preview.deleted === 0;

/**
 * Returns the preview of a plan. Plans of a commit with the same changes have the same digest. It includes the tree's
 * ID, because users who can read reports but not the repository could otherwise confirm guesses of a file's content.
 */
export function summarizePreview({ plan, contents, commit, tree }: PreviewedPlan): Summary {
  const links = linkChanges(plan);
  const { added, modified, deleted } = countFiles({ unchanged: 0, changes: [...links, ...plan.changes] });
  const changes = [...plan.changes].sort((a, b) => (a.path < b.path ? -1 : 1));
  const paths = describeChanges({ publications: plan.publications, changes }, BOUNDS.previewPaths);
  const listed = [
    ...links.map(({ kind, path }) => [path, kind, 'link']),
    ...changes.map((change) => [change.path, change.kind, ...newContent(change, contents)]),
  ];
  const always = changes.find((change) => 'file' in change && usesCommit(change.file, contents, commit))?.path;
  return withoutUndefined({
    digest: listed.length > 0 ? digestOf([...listed, ['', 'tree', tree]]) : UNCHANGED,
    added,
    modified,
    deleted,
    paths: paths.length > 0 ? paths : undefined,
    everyCommit: always && truncate(always, 1024),
  });
}

/** Returns the preview of a release that can't be delivered; its failure is the first problem of this release only. */
export function summarizeProblems(problems: readonly Problem[], first: Problem | undefined): Summary {
  const digest = digestOf(problems.map(({ message }) => ['', 'problem', message]));
  const failure = first && truncate(first.message, BOUNDS.message);
  return withoutUndefined({ digest, added: 0, modified: 0, deleted: 0, failure });
}

/** The order of the entries doesn't matter. */
function digestOf(entries: string[][]): string {
  const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).sort();
  const hash = createHash('sha256');
  for (const line of lines) hash.update(line);
  return hash.digest('hex');
}

/** Returns the ID of a file's content after the change, and its permissions. */
function newContent(change: Change, contents: PreviewedContents): string[] {
  if (!('file' in change)) return [];
  const { path, blob, template, patches, mode, executable, linkText } = change.file;
  if (linkText !== undefined) return [blob, 'link'];
  const copied = 'copied' in change ? change.copied : undefined;
  const rendered = template || patches ? (contents.get(path) ?? copied)?.sha256 : undefined;
  return [rendered ?? blob, mode === undefined ? String(executable) : mode.toString(8)];
}

/** Checks whether every commit changes a file, because a template or a patch uses the commit or the ref. */
function usesCommit({ path, patches }: DesiredFile, contents: PreviewedContents, commit: string): boolean {
  const { keys = [] } = contents.get(path)?.inputs ?? {};
  const isPatched = patches?.steps.some((edits) => edits.some(({ json }) => json.includes(commit))) ?? false;
  return isPatched || keys.includes('Commit') || keys.includes('Ref');
}
