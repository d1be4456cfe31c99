import { isDeepStrictEqual } from 'node:util';
import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { timerMs, wholeSeconds } from '../../shared/domain/text/duration.ts';
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
  /** Time for which a result must last before it is posted (ms). */
  resultLastsMs?: number;
  log: Logger;
}

interface Entry {
  gatewaySync: ObservedGatewaySync;
  wanted: WantedPost | undefined;
  /** Time of a monotonic clock (ms), as all times here. */
  wantedSince: number;
  /** Subject of the last wanted one. */
  subject: Subject | undefined;
  /** The last post. It can be for another commit. */
  posted: CommitStatusRecord | undefined;
  problem: StatusNews['problem'];
  /** The last attempt for the subject, if it failed. */
  trouble: Trouble | undefined;
  call: HostCall | undefined;
  timer: NodeJS.Timeout | undefined;
}

interface Subject {
  destination: Destination;
  commit: string;
}

/** Consecutive failed attempts. */
interface Trouble {
  failures: number;
  since: number;
  retryAt: number;
  /** Whether a retry requires a change by a user. */
  isFinal: boolean;
}

interface PlannedPost extends NextPost {
  destination: Destination;
  /** Its number among the posts for the commit. */
  number: number;
}

/** GitHub recommends at most one creating request per second. */
const LIMITS: HostLimits = { total: 8, perNamespace: 4, perHost: 2, perSecond: 1 };
/** First delays before a retry (ms), which double, and the maximum. `final` requires a change by a user. */
const RETRY_MS = { transient: 5_000, final: 60_000, max: 3_600_000 };
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
    if (!commitStatus || this.#entries.get(key)?.gatewaySync.uid !== gatewaySync.uid) this.forget(key);
    if (!commitStatus || this.#stopping.signal.aborted) return;
    const entry = this.#entries.get(key) ?? newEntry(gatewaySync, known ?? gatewaySync.status.commitStatus);
    this.#entries.set(key, entry);
    // A user may have corrected a refused status. An unavailable server isn't retried earlier.
    const isEdited = entry.gatewaySync.generation !== gatewaySync.generation;
    if (isEdited && entry.trouble?.isFinal) entry.trouble = undefined;
    entry.gatewaySync = gatewaySync;
    if (wanted) changeSubject(entry, { destination: wanted.destination, commit: wanted.wanted.commit });
    if (entry.wanted?.wanted.state !== wanted?.wanted.state) entry.wantedSince = performance.now();
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
  #next({ wanted: post, wantedSince, posted, trouble }: Entry): PlannedPost | undefined {
    if (!post) return undefined;
    const now = performance.now();
    const { destination, wanted } = post;
    const last = posted?.commit === wanted.commit && posted.context === destination.context ? posted : undefined;
    const { resultLastsMs } = this.#options;
    const next = nextPost(last, wanted, { wantedForMs: now - wantedSince, resultLastsMs });
    if (!next) return undefined;
    const inMs = Math.max(next.inMs, (trouble?.retryAt ?? 0) - now);
    return { inMs, destination, status: next.status, number: (last?.posts ?? 0) + 1 };
  }

  #schedule(key: ObjectKey, entry: Entry): void {
    clearTimeout(entry.timer);
    if (entry.call || this.#entries.get(key) !== entry) return;
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
    if (next && next.inMs <= 0) {
      const { subject } = entry;
      const failure = await this.#options
        .send(entry.gatewaySync, next, this.#stopping.signal)
        .then(() => undefined)
        .catch((error: Error) => error);
      if (this.#entries.get(key) !== entry) return;
      this.#options.onAttempt(failure ? outcomeOf(failure) : 'success');
      const isCurrent = entry.subject === subject;
      if (isCurrent && failure) this.#failed(key, entry, failure);
      else if (isCurrent) {
        entry.posted = recordOf(next);
        entry.trouble = undefined;
        entry.problem = undefined;
        this.#options.enqueue(key);
      }
    }
    entry.call = undefined;
    this.#schedule(key, entry);
  }

  #failed(key: ObjectKey, entry: Entry, failure: Error): void {
    const { namespace, name } = entry.gatewaySync;
    const now = performance.now();
    const isFinal = failure instanceof TerminalError;
    const failures = (entry.trouble?.failures ?? 0) + 1;
    const since = entry.trouble?.since ?? now;
    const waitMs = retryMs(failure, failures);
    entry.trouble = { failures, since, retryAt: now + waitMs, isFinal };
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
  return {
    gatewaySync,
    posted,
    wanted: undefined,
    wantedSince: 0,
    subject: undefined,
    problem: 'unknown',
    trouble: undefined,
    call: undefined,
    timer: undefined,
  };
}

/** Drops the state about another commit or destination. */
function changeSubject(entry: Entry, subject: Subject): void {
  const before = entry.subject;
  if (isDeepStrictEqual(before, subject)) return;
  if (before && !isDeepStrictEqual(before.destination, subject.destination)) entry.posted = undefined;
  entry.subject = subject;
  entry.trouble = undefined;
  entry.wantedSince = performance.now();
}

const outcomeOf = (failure: Error) => (failure instanceof TerminalError ? 'refused' : 'failure');

/** Makes the record of a post. */
function recordOf({ destination: { context }, status: { commit, state }, number }: PlannedPost): CommitStatusRecord {
  return { commit, context, state, posts: number, time: wholeSeconds(Date.now()) };
}

/** Delay before the retry after the n-th failure, from 1 (ms). `chance` is from 0 to 1. */
export function retryMs(failure: Error, n: number, chance = Math.random()): number {
  const { retryAfterMs = 0 } = failure instanceof TransientError ? failure : {};
  const baseMs = failure instanceof TerminalError ? RETRY_MS.final : RETRY_MS.transient;
  return Math.max(retryAfterMs, backoffMs(n, { baseMs, maxMs: RETRY_MS.max, jitter: 0.25 }, chance));
}
