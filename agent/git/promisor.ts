/** Name of the remote for objects that are missing from the clone; https://git-scm.com/docs/partial-clone. */
export const PROMISOR = 'sync';

/** The filter that leaves out every file. */
export const NO_FILES = 'blob:none';

/** Leaves out large files; smaller ones cost less than another request. */
export const LIMIT_FILTER = 'blob:limit=64k';

/** Returns settings that make a command tolerate missing objects. They aren't written to the repository. */
export function promisorSettings(repo: string, filter: string = NO_FILES): string[] {
  return ['promisor=true', `url=${repo}`, `partialclonefilter=${filter}`].flatMap((setting) => [
    '-c',
    `remote.${PROMISOR}.${setting}`,
  ]);
}

/** For commands that must not contact a server: missing objects remain missing. */
export const OFFLINE_PROMISOR = ['-c', `remote.${PROMISOR}.promisor=true`];
