import type { TerminalError, TransientError } from '../../shared/errors.ts';

/**
 * Refs that a server advertised, by full name; annotated tags are peeled to their commits. A commit that is known to
 * exist is included under its hash.
 */
export type AdvertisedRefs = ReadonlyMap<string, string>;

/** The refs that a resource needs from its repository. */
export interface NeededRefs {
  /** Full names of refs. */
  prefixes: readonly string[];
  /** The key of a range of versions whose newest tag it needs. */
  range?: string | undefined;
  /** With a range: `prefixes` has all tags that a request or a push names, so that it needs no list of all tags. */
  isNamed?: boolean | undefined;
  /** A requested full hash that isn't known to exist. */
  commit: string | undefined;
}

/** Refs that a query found. */
export interface FoundRefs {
  refs: AdvertisedRefs;
  /** After a list of all tags, of which `refs` has only those that ranges need. */
  tags?: ListedTags | undefined;
}

/** The tags that a git server listed. */
export interface ListedTags {
  /** Their number by prefix; all of them have the empty one. */
  counts: ReadonlyMap<string, number>;
  /** Keys of the ranges that were too large to compare with them. */
  skipped: ReadonlySet<string>;
}

/** The result of the last query; an error comes with the refs of the last success, if there was one. */
export type QueryResult =
  | ({ kind: 'refs' } & FoundRefs)
  | {
      kind: 'error';
      error: TransientError | TerminalError;
      lastGood: FoundRefs | undefined;
      /** Time until a useful retry (ms). */
      retryAfterMs: number;
    };

/** A query is queued or in progress. */
export interface PendingQuery {
  kind: 'querying';
  /** Time for which this resource has waited (ms). */
  forMs: number;
  /** Time until the query can be queued (ms), if the resource has caused too many. */
  retryAfterMs?: number | undefined;
}

/** Above this number of tags, ranges are polled less often, because each poll fetches all tags. */
export const MANY_TAGS = { tags: 5_000, intervalMs: 300_000 };

/** Total number of tags that a git server listed. */
export const tagTotal = (found: FoundRefs | undefined): number => found?.tags?.counts.get('') ?? 0;
