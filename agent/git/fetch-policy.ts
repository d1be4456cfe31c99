import type { Contents } from './repository.ts';

/** Files that a host leaves out, as in `git rev-list --filter`; undefined: none. */
export type Filter = 'blob:none' | typeof LIMIT_FILTER | undefined;

/** Larger files are fetched only where they are mapped; smaller ones cost less than another request. */
export const LIMIT_FILTER = 'blob:limit=64k';

/** So many blobs take git longer to be asked for one by one than as a part of the commit. */
export const MANY_BLOBS = 1_000;

/** What is known of a host: whether it gives single files by their ids. Until it refuses it is taken to. */
export type Host = 'servesBlobs' | 'commitsOnly';

/**
 * What to leave out of a commit: nothing where all is wanted, or could not be had later; the first time all files, since
 * those that are mapped are asked for then; later on large ones.
 */
export function filterFor({ isWhole }: { isWhole: boolean }, { commit }: Pick<Contents, 'commit'>, host: Host): Filter {
  if (isWhole || host === 'commitsOnly') return undefined;
  return commit === undefined ? 'blob:none' : LIMIT_FILTER;
}

/** Whether so many wanted files are so large a part of a commit's that the commit had better come as a whole. */
export const isMostOf = (files: number, wanted: number): boolean => wanted * 4 > files;
