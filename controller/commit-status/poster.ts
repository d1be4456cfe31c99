import { isDeepStrictEqual } from 'node:util';
import type { CommitStatusRecord } from '../../shared/api/gateway-sync-status.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { timerMs, wholeSeconds } from '../../shared/domain/text/duration.ts';
import { isTyped, TerminalError, TransientError } from '../../shared/errors.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { Logger } from '../../shared/log.ts';
import { type HostCall, HostLimiter, type HostLimits } from '../polling/host-limiter.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type NextPost, nextPost, type PostState, type StatusPost } from './next-post.ts';
import type { SendStatus } from './send-status.ts';
import type { CommitStatus, Destination } from './servers.ts';

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

/** The posts of a resource about one subject. */
interface Entry extends PostState {
  gatewaySync: ObservedGatewaySync;
  /** Undefined if no status has been desired yet. */
  subject: Subject | undefined;
  desired?: CommitStatus | undefined;
  /** Time of a monotonic clock (ms), as all times here. */
  desiredSince: number;
  /** The last attempt, if it failed. */
  trouble?: Trouble | undefined;
  call?: HostCall | undefined;
  timer?: NodeJS.Timeout;
}

interface Subject {
  destination: Destination;
  commit: string;
}

/** Consecutive failed attempts. */
interface Trouble {
  failures: number;
  retryAt: number;
  /** Whether a retry requires a change by a user. */
  isFinal: boolean;
}

/** GitHub recommends at most one creating request per second. */
const LIMITS: HostLimits = { total: 8, perNamespace: 4, perHost: 2, perSecond: 1 };
/** First delays before a retry (ms), which double, and the maximum. `final` requires a change by a user. */
const RETRY_MS = { transient: 5_000, final: 60_000, max: 3_600_000 };
const UNEXPECTED = {
  reason: 'CommitStatusFailed',
  message: 'unexpected error; see the log of the controller',
} as const;
/** Delay before a retry from which a transient problem is shown in the status (ms): after about a minute of failures. */
const PATIENCE_MS = 60_000;

/**
 * Posts commit statuses independently of reconciles, which pass the desired status and later read the result. Only the
 * newest desired status of a resource is used.
 */
export class StatusPoster {
  readonly #options: PosterOptions;
  readonly #entries = new Map<ObjectKey, Entry>();
  readonly #limiter = new HostLimiter(LIMITS);
  readonly #stopping = new AbortController();

  constructor(options: PosterOptions) {
    this.#options = options;
  }

  stateOf(key: ObjectKey, { uid }: ObservedGatewaySync): PostState | undefined {
    const entry = this.#entries.get(key);
    return entry?.gatewaySync.uid === uid ? entry : undefined;
  }

  /** Takes the desired status; if undefined, nothing is posted until there is one. */
  take(key: ObjectKey, gatewaySync: ObservedGatewaySync, post: StatusPost | undefined): void {
    if (!gatewaySync.spec.git.commitStatus) this.forget(key);
    if (!gatewaySync.spec.git.commitStatus || this.#stopping.signal.aborted) return;
    const entry = this.#entryFor(key, gatewaySync, post);
    // A user may have corrected a refused status. An unavailable server isn't retried earlier.
    const isEdited = entry.gatewaySync.generation !== gatewaySync.generation;
    if (isEdited && entry.trouble?.isFinal) entry.trouble = undefined;
    if (entry.desired?.state !== post?.status.state) entry.desiredSince = performance.now();
    entry.gatewaySync = gatewaySync;
    entry.desired = post?.status;
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

  /** Another resource, commit, or destination gets a new entry, which keeps the last post to this destination. */
  #entryFor(key: ObjectKey, gatewaySync: ObservedGatewaySync, post: StatusPost | undefined): Entry {
    const entry = this.#entries.get(key);
    const before = entry?.gatewaySync.uid === gatewaySync.uid ? entry : undefined;
    const subject = post && { destination: post.destination, commit: post.status.commit };
    if (before && (!subject || isDeepStrictEqual(before.subject, subject))) return before;
    this.forget(key);
    const next = newEntry(gatewaySync, subject, before);
    this.#entries.set(key, next);
    return next;
  }

  /** Returns the next post, and the delay before it (ms). */
  #next(entry: Entry): (NextPost & StatusPost) | undefined {
    const { subject, desired, desiredSince, trouble } = entry;
    if (!subject || !desired) return undefined;
    const now = performance.now();
    const { resultLastsMs } = this.#options;
    const next = nextPost(lastOf(entry), desired, { desiredForMs: now - desiredSince, resultLastsMs });
    if (!next) return undefined;
    const inMs = Math.max(next.inMs, (trouble?.retryAt ?? 0) - now);
    return { inMs, status: next.status, destination: subject.destination };
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

  /** The desired status may have changed while the call was queued. */
  async #attempt(key: ObjectKey, entry: Entry): Promise<void> {
    const next = this.#next(entry);
    if (next && next.inMs <= 0) {
      const failure = await this.#options.send(entry.gatewaySync, next, this.#stopping.signal).then(
        () => undefined,
        (error: Error) => error,
      );
      this.#options.onAttempt(failure ? outcomeOf(failure) : 'success');
      if (this.#entries.get(key) !== entry) return;
      if (failure) this.#failed(key, entry, failure);
      else this.#succeeded(key, entry, next);
    }
    entry.call = undefined;
    this.#schedule(key, entry);
  }

  #succeeded(key: ObjectKey, entry: Entry, { destination: { context }, status: { commit, state } }: StatusPost): void {
    const posts = (lastOf(entry)?.posts ?? 0) + 1;
    entry.posted = { commit, context, state, posts, time: wholeSeconds(Date.now()) };
    entry.trouble = undefined;
    entry.problem = undefined;
    this.#options.enqueue(key);
  }

  #failed(key: ObjectKey, entry: Entry, failure: Error): void {
    const { namespace, name } = entry.gatewaySync;
    const isFinal = failure instanceof TerminalError;
    const failures = (entry.trouble?.failures ?? 0) + 1;
    const waitMs = retryMs(failure, failures);
    entry.trouble = { failures, retryAt: performance.now() + waitMs, isFinal };
    this.#options.log.warn({ err: failure, namespace, name, waitMs: Math.round(waitMs) }, 'commit status not posted');
    if (!isFinal && waitMs < PATIENCE_MS) return;
    const { reason, message } = isTyped(failure) ? failure : UNEXPECTED;
    this.#setProblem(key, entry, { reason, message: `the commit status can't be posted: ${message}` });
  }

  #setProblem(key: ObjectKey, entry: Entry, problem: PostState['problem']): void {
    if (isDeepStrictEqual(entry.problem, problem)) return;
    entry.problem = problem;
    this.#options.enqueue(key);
  }
}

function newEntry(gatewaySync: ObservedGatewaySync, subject: Subject | undefined, before: Entry | undefined): Entry {
  const isElsewhere = before?.subject && !isDeepStrictEqual(before.subject.destination, subject?.destination);
  const { posted, problem }: PostState = before ?? { posted: gatewaySync.status.commitStatus, problem: 'unknown' };
  return { gatewaySync, subject, posted: isElsewhere ? undefined : posted, problem, desiredSince: 0 };
}

/** The last post about the subject. */
function lastOf({ posted, subject }: Entry): CommitStatusRecord | undefined {
  return posted?.commit === subject?.commit && posted?.context === subject?.destination.context ? posted : undefined;
}

const outcomeOf = (failure: Error) => (failure instanceof TerminalError ? 'refused' : 'failure');

/** Delay before the retry after the n-th failure, from 1 (ms). `chance` is from 0 to 1. */
export function retryMs(failure: Error, n: number, chance = Math.random()): number {
  const { retryAfterMs = 0 } = failure instanceof TransientError ? failure : {};
  const baseMs = failure instanceof TerminalError ? RETRY_MS.final : RETRY_MS.transient;
  return Math.max(retryAfterMs, backoffMs(n, { baseMs, maxMs: RETRY_MS.max, jitter: 0.25 }, chance));
}
