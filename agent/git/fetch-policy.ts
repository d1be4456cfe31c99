import type { Fallback } from './fetch-commit.ts';
import { NO_FILES } from './promisor.ts';
import type { Contents } from './repository.ts';
import type { TransferBounds } from './transfer.ts';

/** Files that a host leaves out, as in `git rev-list --filter`; undefined: none. */
type Filter = typeof NO_FILES | typeof LIMIT_FILTER | undefined;

/** Larger files are fetched only where they are mapped; smaller ones cost less than another request. */
export const LIMIT_FILTER = 'blob:limit=64k';

/** So many blobs take git longer to be asked for one by one than as a part of the commit. */
export const MANY_BLOBS = 1_000;

/** What is known of a host: whether it gives single files by their ids. Until it refuses it is taken to. */
export type Host = 'servesBlobs' | 'commitsOnly';

/** How to ask for a commit. */
export interface FetchPlan {
  filter: Filter;
  /** What more than this is given up for, to be asked for without files. */
  bounds?: TransferBounds;
}

/** Costs less than to ask for files in a second request, as far as that can be said of all networks. */
const FIRST_BOUNDS: TransferBounds = { objects: 50_000, bytes: 16 * 1024 * 1024 };

/**
 * Leaves out nothing where all is wanted, or could not be had later, and large files otherwise. Where the first commit
 * turns out to be large, commits come without any file, and those that are mapped are asked for: a host would send what
 * differs from files that it left out.
 */
export function planFetch(
  { isWhole }: { isWhole: boolean },
  { commit }: Pick<Contents, 'commit'>,
  { host, isLarge }: { host: Host; isLarge: boolean },
): FetchPlan {
  if (isWhole || host === 'commitsOnly') return { filter: undefined };
  if (isLarge) return { filter: NO_FILES };
  return { filter: LIMIT_FILTER, ...(commit === undefined && { bounds: FIRST_BOUNDS }) };
}

/** What is known of the size of a repository, from its fetches. */
export class RepositorySize {
  #wasGivenUp = false;
  /** Commits in a row, and whether the one that comes is among them. */
  #wants = 0;
  #isWanting = false;
  #hasCopies = false;

  /** Whether commits had better come without files. */
  get isLarge(): boolean {
    return this.#wasGivenUp || this.#wants > 1;
  }

  /** A first commit was given up for its size. */
  onGivenUp(): void {
    this.#wasGivenUp = true;
  }

  /**
   * A commit is asked for in another way. A host that sends differences from files that it left out for two commits in a
   * row will go on.
   */
  readonly onFallback = (cause: Fallback): void => {
    if (cause === 'harmless') {
      this.#hasCopies = true;
      return;
    }
    this.#wants += 1;
    this.#isWanting = true;
  };

  /** Whether files came that may have been in the clone already. */
  get hasCopies(): boolean {
    return this.#hasCopies;
  }

  /** All copies were dropped. */
  onCompacted(): void {
    this.#hasCopies = false;
  }

  /** A commit came, as it was asked for or for want of bases without files. */
  onFetched(): void {
    if (!this.#isWanting) this.#wants = 0;
    this.#isWanting = false;
  }

  /** All small files came. */
  onSmallFiles(): void {
    this.#wasGivenUp = false;
    this.#wants = 0;
  }
}

/** Whether so many wanted files are so large a part of a commit's that the commit had better come as a whole. */
export const isMostOf = (files: number, wanted: number): boolean => wanted * 4 > files;
