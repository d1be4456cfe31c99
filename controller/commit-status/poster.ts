import { isDeepStrictEqual } from 'node:util';
import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { timerMs, wholeSeconds } from '../../shared/domain/duration.ts';
import { LruMap } from '../../shared/domain/lru-map.ts';
import { isTyped, TerminalError, TransientError } from '../../shared/errors.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import { type HostCall, HostLimiter, type HostLimits } from '../polling/host-limiter.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Destination } from './destination.ts';
import { type NextPost, nextPost, type StatusNews, type WantedPost } from './next-post.ts';
import type { SendStatus } from './send-status.ts';

export interface PosterOptions {
  send: SendStatus;
  /** Enqueues a resource after a post, or after a change of its post's state. */
  enqueue: (key: ObjectKey) => void;
  /** Called with the outcome of each attempt, for metrics. */
  onAttempt: (outcome: 'success' | 'failure' | 'refused') => void;
  log: Logger;
}

interface Entry {
  gatewaySync: ObservedGatewaySync;
  wanted: WantedPost | undefined;
  /** Time of a monotonic clock (ms), as all times here. */
  wantedSince: number;
  /** The last post for the wanted commit, or for the previous one. */
  posted: CommitStatusRecord | undefined;
  /** The last post for each commit and destination, by `postKey`: a ref that alternates causes no more posts. */
  records: LruMap<string, CommitStatusRecord>;
  problem: StatusNews['problem'];
  /** The last attempt, if it failed. */
  trouble: Trouble | undefined;
  call: HostCall | undefined;
  timer: NodeJS.Timeout | undefined;
}

interface Planned extends NextPost {
  destination: Destination;
}

/** Consecutive failed attempts. */
interface Trouble {
  /** Their commit and destination. */
  about: string;
  failures: number;
  since: number;
  retryAt: number;
  /** Whether a retry requires a change by a user. */
  isFinal: boolean;
}

/** GitHub recommends at most one creating request per second. */
const LIMITS: HostLimits = { total: 8, perNamespace: 4, perHost: 2, perSecond: 1 };
/** First delays before a retry (ms), which double, and the maximum. `final` requires a change by a user. */
const RETRY_MS = { transient: 5_000, final: 60_000, max: 3_600_000 };
/** Maximum commits per resource whose last post is remembered. */
const MAX_RECORDS = 8;
const UNEXPECTED = {
  reason: 'CommitStatusFailed',
  message: 'unexpected error; see the log of the controller',
} as const;
/** Time after which a transient problem is shown in the status (ms). */
const PATIENCE_MS = 60_000;

/**
 * Posts commit statuses independently of reconciles, which pass the wanted status and later read the result. Only the
 * newest wanted status of a resource is used.
 */
export class StatusPoster {
  readonly #options: PosterOptions;
  readonly #entries = new Map<ObjectKey, Entry>();
  readonly #limiter = new HostLimiter(LIMITS);
  readonly #stopping = new AbortController();

  constructor(options: PosterOptions) {
    this.#options = options;
  }

  newsOf(key: ObjectKey, { uid }: ObservedGatewaySync): StatusNews | undefined {
    const entry = this.#entries.get(key);
    return entry?.gatewaySync.uid === uid ? entry : undefined;
  }

  /** Takes the wanted status, and the last posted one from the status of the resource. */
  want(
    key: ObjectKey,
    gatewaySync: ObservedGatewaySync,
    wanted: WantedPost | undefined,
    known?: CommitStatusRecord,
  ): void {
    const { commitStatus } = gatewaySync.spec.git;
    if (this.#entries.get(key)?.gatewaySync.uid !== gatewaySync.uid) this.forget(key);
    if (this.#stopping.signal.aborted) return;
    const before = this.#entries.get(key);
    // The last post stays known while no status is configured, because the same commit may need one again soon.
    const stands = known ?? gatewaySync.status.commitStatus;
    if (!before && !commitStatus && !stands) return;
    const entry = before ?? newEntry(gatewaySync, stands);
    this.#entries.set(key, entry);
    // A user may have corrected a refused status. An unavailable server isn't retried earlier.
    const isEdited = entry.gatewaySync.generation !== gatewaySync.generation;
    if (isEdited && entry.trouble?.isFinal) entry.trouble = undefined;
    entry.gatewaySync = gatewaySync;
    if (isOther(entry.wanted, wanted)) entry.wantedSince = performance.now();
    entry.wanted = wanted;
    this.#schedule(key, entry);
  }

  /** Drops the state of a resource. */
  forget(key: ObjectKey): void {
    const entry = this.#entries.get(key);
    if (!entry) return;
    this.#entries.delete(key);
    clearTimeout(entry.timer);
    if (entry.call) this.#limiter.remove(entry.call);
  }

  /** Starts no more posts, and aborts those in progress, because another replica may lead. */
  stop(): void {
    this.#stopping.abort();
    for (const key of [...this.#entries.keys()]) this.forget(key);
  }

  /** Returns the next post, and the delay before it (ms). */
  #next({ wanted: post, wantedSince, records, trouble }: Entry): Planned | undefined {
    if (!post) return undefined;
    const now = performance.now();
    const { destination, wanted } = post;
    const { former } = wanted;
    // A former commit without a post gets none now.
    const before = former && records.get(postKey(destination, former));
    const next =
      (before && nextPost(before, former, 0)) ??
      nextPost(records.get(postKey(destination, wanted)), wanted, now - wantedSince);
    if (!next) return undefined;
    const retryAt = trouble?.about === postKey(destination, next.status) ? trouble.retryAt : 0;
    return { ...next, destination, inMs: Math.max(0, next.inMs, retryAt - now) };
  }

  #schedule(key: ObjectKey, entry: Entry): void {
    clearTimeout(entry.timer);
    if (entry.call || this.#entries.get(key) !== entry) return;
    const { wanted: post, records } = entry;
    const posted = post && records.get(postKey(post.destination, post.wanted));
    if (posted && posted !== entry.posted) {
      entry.posted = posted;
      this.#options.enqueue(key);
    }
    const next = this.#next(entry);
    if (!next) {
      this.#setProblem(key, entry, undefined);
    } else if (next.inMs > 0) {
      entry.timer = setTimeout(() => this.#schedule(key, entry), timerMs(Math.ceil(next.inMs))).unref();
    } else {
      const { hostname: host } = new URL(next.destination.api);
      const { namespace } = entry.gatewaySync;
      entry.call = { host, namespace, run: () => this.#attempt(key, entry) };
      this.#limiter.add(entry.call, false);
    }
  }

  /** Facts may have changed while the call was queued. */
  async #attempt(key: ObjectKey, entry: Entry): Promise<void> {
    const next = this.#next(entry);
    if (next?.inMs === 0) {
      const failure = await this.#options
        .send(entry.gatewaySync, next, this.#stopping.signal)
        .then(() => undefined)
        .catch((error: Error) => error);
      if (this.#entries.get(key) !== entry) return;
      if (failure) this.#failed(key, entry, { failure, next });
      else {
        entry.posted = recordOf(next);
        entry.records.set(postKey(next.destination, next.status), entry.posted);
        entry.trouble = undefined;
        entry.problem = undefined;
        this.#options.onAttempt('success');
        this.#options.enqueue(key);
      }
    }
    entry.call = undefined;
    this.#schedule(key, entry);
  }

  #failed(key: ObjectKey, entry: Entry, { failure, next }: { failure: Error; next: Planned }): void {
    const { namespace, name } = entry.gatewaySync;
    const now = performance.now();
    const isFinal = failure instanceof TerminalError;
    const about = postKey(next.destination, next.status);
    const before = entry.trouble?.about === about ? entry.trouble : undefined;
    const failures = (before?.failures ?? 0) + 1;
    const since = before?.since ?? now;
    const waitMs = retryMs(failure, failures);
    entry.trouble = { about, failures, since, retryAt: now + waitMs, isFinal };
    this.#options.onAttempt(isFinal ? 'refused' : 'failure');
    this.#options.log.warn({ err: failure, namespace, name, waitMs: Math.round(waitMs) }, 'commit status not posted');
    const isWorthAWord = isFinal || waitMs >= PATIENCE_MS || now - since >= PATIENCE_MS;
    if (isWorthAWord) {
      const { reason, message } = isTyped(failure) ? failure : UNEXPECTED;
      this.#setProblem(key, entry, { reason, message: `the commit status can't be posted: ${message}` });
    }
  }

  #setProblem(key: ObjectKey, entry: Entry, problem: StatusNews['problem']): void {
    const isNews = !isDeepStrictEqual(entry.problem, problem);
    entry.problem = problem;
    if (isNews) this.#options.enqueue(key);
  }
}

function newEntry(gatewaySync: ObservedGatewaySync, posted: CommitStatusRecord | undefined): Entry {
  const records = new LruMap<string, CommitStatusRecord>(MAX_RECORDS);
  if (posted) records.set(postKey(posted, posted), posted);
  return {
    gatewaySync,
    posted,
    records,
    wanted: undefined,
    wantedSince: performance.now(),
    problem: 'unknown',
    trouble: undefined,
    call: undefined,
    timer: undefined,
  };
}

/** Makes the record of a post. */
function recordOf({ destination: { context, target }, status, number }: Planned): CommitStatusRecord {
  const { commit, state } = status;
  return { commit, context, state, target, posts: number, time: wholeSeconds(Date.now()) };
}

/** A different description of the same state isn't another status. */
function isOther(before: WantedPost | undefined, after: WantedPost | undefined): boolean {
  const what = (each: WantedPost | undefined) =>
    each && [each.destination.target, each.wanted.commit, each.wanted.state, each.wanted.isDecided].join(' ');
  return what(before) !== what(after);
}

const postKey = ({ target }: Pick<Destination, 'target'>, { commit }: { commit: string }) => `${commit} ${target}`;

/** Delay before the retry after the n-th failure, from 1 (ms). `chance` is from 0 to 1. */
export function retryMs(failure: Error, n: number, chance = Math.random()): number {
  const { retryAfterMs = 0 } = failure instanceof TransientError ? failure : {};
  const baseMs = failure instanceof TerminalError ? RETRY_MS.final : RETRY_MS.transient;
  return Math.max(retryAfterMs, backoffMs(n, { baseMs, maxMs: RETRY_MS.max, jitter: 0.25 }, chance));
}
