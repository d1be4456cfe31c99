import { createHash } from 'node:crypto';
import type { Applied, Manifest, ManifestUpdate, OwnedFile } from './manifest.ts';
import type { Change, Plan } from './plan-changes.ts';

/**
 * What the manifest has to say before the first change: it then covers what is there and what is about to be written,
 * so that whatever a kill leaves behind has an owner. A file counts as the agent's with the new content, or with what it
 * had when it was looked at, if that was the agent's, too. Where the path is the agent's before and after, so it is in
 * between. One that is about to go is announced as well: that it is missing then is no drift, and what comes in its
 * place is somebody else's.
 */
export function updateBefore(plan: Plan, staged: OwnedFile[], { files }: Manifest): ManifestUpdate {
  const changes = new Map(plan.changes.filter(concernsEarlier).map((change) => [change.path, change]));
  const leaving = plan.changes.flatMap((change) => ('file' in change ? [] : (files.get(change.path) ?? [])));
  const announced = [...staged, ...leaving].map((record) => announce(record, changes.get(record.path)));
  return {
    files: [...plan.corrected, ...announced],
    pending: new Set(announced.map(({ path }) => path)),
    folders: plan.folders.create,
    forgottenFiles: [],
    forgottenFolders: [],
    applied: undefined,
  };
}

/** Whether something of the agent's may be there before: not so where a file comes to where none was. */
const concernsEarlier = ({ kind, reason }: Change): boolean => kind !== 'add' || !COMING.has(reason);

function announce(given: OwnedFile, change: Change | undefined): OwnedFile {
  const earlier = change && ownContent(change);
  const wasOurs = change !== undefined && 'file' in change && !COMING.has(change.reason);
  const isPlain = earlier === undefined && !wasOurs && given.earlier === undefined && given.wasOurs === undefined;
  // Of a first sync, all are.
  if (isPlain) return given;
  const { earlier: _, wasOurs: __, ...record } = given;
  return { ...record, ...(earlier !== undefined && { earlier }), ...(wasOurs && { wasOurs }) };
}

/** Reasons to write where nothing of the agent's is. */
const COMING = new Set<Change['reason']>(['New', 'TakenOver']);

/** Hash of the content that is there, if it is the agent's. */
function ownContent(change: Change): string | undefined {
  if (change.kind === 'add' || change.reason === 'TakenOver') return undefined;
  return change.was?.kind === 'file' ? change.was.sha256 : undefined;
}

/** What is to be said after the last change. */
export function updateAfter({ disowned, folders }: Plan, applied: Applied): ManifestUpdate {
  return {
    files: [],
    pending: new Set(),
    folders: [],
    forgottenFiles: disowned,
    forgottenFolders: [...folders.clear, ...folders.prune],
    applied,
  };
}

/** What is to be said where no file changes. */
export function updateRecords(plan: Plan, applied: Applied): ManifestUpdate {
  return { ...updateAfter(plan, applied), files: plan.corrected };
}

/** Ending of all names in the folder with what was taken over. */
export const KEPT_ENDING = '.kept';

/**
 * A name for what was at a path, in the folder with what was taken over; the number tells several from one another. It
 * doesn't keep the ending, by which a program that scans the volume would find it.
 */
export function keptName(path: string, number: number): string {
  const id = createHash('sha256').update(path).digest('hex').slice(0, 16);
  const base = path.slice(path.lastIndexOf('/') + 1).replace(/[^\w.-]/g, '_');
  return `${id}${number > 1 ? `-${number}` : ''}-${base.slice(0, 100)}${KEPT_ENDING}`;
}
