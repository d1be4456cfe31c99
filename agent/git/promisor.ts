/** Name of the remote that objects may be missing from the clone for; https://git-scm.com/docs/partial-clone. */
export const PROMISOR = 'sync';

/** The filter that leaves every file out. */
export const NO_FILES = 'blob:none';

/** Leaves large files out; smaller ones cost less than another request. */
export const LIMIT_FILTER = 'blob:limit=64k';

/** The settings that make a command bear with missing objects. Nothing of it is written to the repository. */
export function promisorSettings(repo: string, filter: string = NO_FILES): string[] {
  return ['promisor=true', `url=${repo}`, `partialclonefilter=${filter}`].flatMap((setting) => [
    '-c',
    `remote.${PROMISOR}.${setting}`,
  ]);
}

/** For commands that have no business with a host: what is missing stays missing. */
export const OFFLINE_PROMISOR = ['-c', `remote.${PROMISOR}.promisor=true`];
