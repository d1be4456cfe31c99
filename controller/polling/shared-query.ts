import { isDeepStrictEqual } from 'node:util';
import type { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { earliest, timerMs } from '../../shared/domain/text/duration.ts';
import { isTyped } from '../../shared/errors.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import { backoff } from './back-off.ts';
import type { Turn } from './git-http.ts';
import { tooManyComparisons } from './host-errors.ts';
import { CALL_TIMEOUT_MS, type HostCall, type HostLimiter } from './host-limiter.ts';
import {
  type FoundRefs,
  MANY_TAGS,
  type NeededRefs,
  type PendingQuery,
  type QueryResult,
  tagTotal,
} from './query-result.ts';
import type { RefQuery } from './ref-query.ts';
import type { RepositoryClient } from './repository-client.ts';
import { type Known, type ListBudget, TagLists } from './tag-lists.ts';

/** The part of a shared query that one resource needs. */
export interface Interest extends Omit<NeededRefs, 'commit'> {
  /** Time between two polls (ms); undefined if the resource isn't polled. */
  intervalMs: number | undefined;
  /** Identifies an event, such as a request. Only a query that began after the event was first seen is valid for it. */
  event: string | undefined;
  /** Whether a request, a push or an edit waits for the result, and the status doesn't show it yet. */
  isUrgent: boolean;
}

export interface SharedQueryOptions {
  /** Identity: namespace, repository, credential, and the commit if the query is about one. */
  id: string;
  host: string;
  namespace: string;
  client: Pick<RepositoryClient, 'query'>;
  limiter: HostLimiter;
  /** The full hash that the query looks for, if it is about a commit. */
  commit?: string | undefined;
  /** Limits how often a resource can cause this query. */
  rateLimit?: RateLimit | undefined;
  /** Limits the lists of all tags, if the query is about ranges. */
  listBudget?: ListBudget | undefined;
  /** Called for the resources that can go on: the result that they wait for has arrived, or their refs moved. */
  enqueue: (key: string) => void;
  /** Called after every query, for metrics. */
  onQuery?: ((outcome: 'success' | 'failure', seconds: number) => void) | undefined;
}

type State = { kind: 'idle' } | { kind: 'queued' } | { kind: 'running'; startedAt: number };

/** The last result, when its query began, and the names and ranges that it asked for. */
type Result = { startedAt: number; covered: Known['covered'] } & (
  | ({ kind: 'refs' } & Known)
  /** `failingSince` is when the first query began that failed, with no success since then. */
  | (Extract<QueryResult, { kind: 'error' }> & { lastGood: Known | undefined; failingSince: number })
);

interface Subscriber extends Interest {
  /** When its event was first seen. */
  eventAt: number;
  /** Since when it waits for a result; undefined if it has one. */
  waitingSince: number | undefined;
}

/** A query shared by the resources of a namespace with the same repository and credential, sent for all at once. */
export class SharedQuery implements HostCall {
  readonly id: string;
  readonly host: string;
  readonly namespace: string;
  readonly #options: SharedQueryOptions;
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #lists: TagLists | undefined;
  #state: State = { kind: 'idle' };
  #result: Result | undefined;
  #poll: NodeJS.Timeout | undefined;

  constructor(options: SharedQueryOptions) {
    this.id = options.id;
    this.host = options.host;
    this.namespace = options.namespace;
    this.#options = options;
    this.#lists = options.listBudget && new TagLists(options.listBudget);
  }

  get isUnused(): boolean {
    return this.#subscribers.size === 0;
  }

  /** Time by which the running query exceeds its limit (ms). */
  get stuckForMs(): number {
    return this.#state.kind === 'running'
      ? Math.max(0, performance.now() - this.#state.startedAt - CALL_TIMEOUT_MS)
      : 0;
  }

  /** Includes the refs of a resource in the next query, whichever resource causes it. */
  subscribe(key: string, interest: Interest): void {
    const before = this.#subscribers.get(key);
    const eventAt = before && before.event === interest.event ? before.eventAt : performance.now();
    this.#subscribers.set(key, { ...interest, eventAt, waitingSince: before?.waitingSince });
    if (before?.intervalMs !== interest.intervalMs) this.#schedulePoll();
  }

  /** Returns the last result if it serves the subscriber. Otherwise queues a query, and `enqueue` is called after it. */
  query(key: string): QueryResult | PendingQuery {
    const subscriber = this.#subscribers.get(key);
    if (!subscriber) throw new Error(`${key} has not subscribed`);
    if (this.#result && this.#suffices(this.#result, subscriber)) {
      subscriber.waitingSince = undefined;
      return this.#resultFor(subscriber, this.#result);
    }
    const now = performance.now();
    subscriber.waitingSince ??= now;
    const retryAfterMs = this.#state.kind === 'idle' ? this.#waitMs(key, subscriber, now) : 0;
    if (retryAfterMs === 0) this.#queue(subscriber.isUrgent);
    return { kind: 'querying', forMs: now - subscriber.waitingSince, retryAfterMs: retryAfterMs || undefined };
  }

  unsubscribe(key: string): void {
    const before = this.#subscribers.get(key);
    this.#subscribers.delete(key);
    if (this.isUnused) this.stop();
    else if (before?.intervalMs !== undefined) this.#schedulePoll();
  }

  /** Drops all subscribers and the result, and aborts the query. */
  stop(): void {
    clearTimeout(this.#poll);
    this.#subscribers.clear();
    this.#options.limiter.remove(this);
    this.#result = undefined;
    if (this.#state.kind === 'queued') this.#state = { kind: 'idle' };
  }

  /** Sends the query for all subscribers; never rejects. Called by the limiter. */
  async run(signal: AbortSignal, turn: Turn): Promise<void> {
    const startedAt = performance.now();
    this.#state = { kind: 'running', startedAt };
    this.#schedulePoll();
    const before = this.#result;
    const after = await this.#ask(startedAt, signal, turn);
    this.#state = { kind: 'idle' };
    if (this.isUnused) return;
    const outcome = after.kind === 'refs' ? 'success' : 'failure';
    this.#options.onQuery?.(outcome, (performance.now() - startedAt) / 1000);
    this.#result = after;
    this.#schedulePoll();
    const tags = [before, after].flatMap((result) => [...(foundIn(result)?.refs.keys() ?? [])]);
    // Messages show the number of tags, and a range can be too large for them.
    const isOtherList = !isDeepStrictEqual(foundIn(before)?.tags, foundIn(after)?.tags);
    const haveTagsChanged = isOtherList || hasChanged(before, after, tags);
    for (const [key, { waitingSince, intervalMs, prefixes, range }] of this.#subscribers) {
      const isAffected = hasChanged(before, after, prefixes) || (range !== undefined && haveTagsChanged);
      const hears = intervalMs !== undefined || range !== undefined;
      if (waitingSince !== undefined || (hears && isAffected)) this.#options.enqueue(key);
    }
  }

  /** Lists the tags again because of an event in the repository that another query has seen, but never the first time. */
  refresh(): void {
    this.#lists?.refresh();
    this.#schedulePoll();
  }

  async #ask(startedAt: number, signal: AbortSignal, turn: Turn): Promise<Result> {
    const { client, commit } = this.#options;
    const subscribers = [...this.#subscribers.values()];
    const prefixes = [...new Set(subscribers.flatMap((each) => each.prefixes))];
    const isList = this.#lists?.begin(subscribers, startedAt) === 'all tags';
    const ranges = isList ? [...new Set(subscribers.flatMap(({ range }) => range ?? []))] : [];
    const query: RefQuery = { prefixes, ranges, commit };
    const covered = new Set([...prefixes, ...ranges]);
    const before = this.#result;
    try {
      const known = { ...(await client.query(query, signal, turn)), covered };
      const merged = ranges.length > 0 ? this.#lists?.keep(known) : this.#lists?.add(known);
      return { kind: 'refs', startedAt, ...(merged ?? known) };
    } catch (thrown) {
      const error = isTyped(thrown) ? thrown : gitErrorOf('', { cause: thrown });
      const failingSince = before?.kind === 'error' ? before.failingSince : startedAt;
      const retryAfterMs = backoff(error, startedAt - failingSince);
      return { kind: 'error', error, lastGood: foundIn(before), retryAfterMs, failingSince, startedAt, covered };
    }
  }

  #resultFor(interest: Interest, result: Result): QueryResult {
    const found = this.#foundFor(interest, foundIn(result));
    if (result.kind === 'error') {
      const retryAfterMs = Math.max(0, retryAt(result) - performance.now());
      return { kind: 'error', error: result.error, lastGood: found, retryAfterMs };
    }
    if (found) return { kind: 'refs', ...found };
    const error = tooManyComparisons(interest.range ?? '', tagTotal(result));
    const retryAfterMs = Math.max(0, result.startedAt + MANY_TAGS.intervalMs - performance.now());
    return { kind: 'error', error, lastGood: undefined, retryAfterMs };
  }

  /**
   * The refs of one subscriber only. Those for ranges have no more than one tag for each of them, so they serve no other
   * range, and none that was skipped because it is too large. A query about a commit has the same refs for all.
   */
  #foundFor(interest: Interest, known: Known | undefined): FoundRefs | undefined {
    if (!known) return undefined;
    const { refs, tags } = known;
    const { prefixes, range } = interest;
    if (range !== undefined)
      return hasAll(known.covered, interest) && !tags?.skipped.has(range) ? { refs, tags } : undefined;
    if (this.#options.commit !== undefined) return { refs };
    return { refs: new Map(prefixes.flatMap((name) => (refs.has(name) ? [[name, refs.get(name) as string]] : []))) };
  }

  /** Whether a result has the refs of the subscriber, is newer than its event, and isn't an error that is due for a retry. */
  #suffices(result: Result, subscriber: Subscriber): boolean {
    const { event, eventAt, waitingSince } = subscriber;
    const { startedAt, covered, kind } = result;
    if (event !== undefined && startedAt < eventAt) return false;
    const isCurrent = kind === 'refs' ? !this.#lists?.isNeededBy(subscriber) : performance.now() < retryAt(result);
    const isAwaited = kind === 'error' && waitingSince !== undefined && startedAt >= waitingSince;
    return (isCurrent || isAwaited) && hasAll(covered, subscriber);
  }

  /** Counts a query that the resource causes. Returns the time that it has to wait instead (ms), if any. */
  #waitMs(key: string, subscriber: Subscriber, now: number): number {
    const { rateLimit } = this.#options;
    if (this.#lists) return this.#lists.waitMs(subscriber);
    return !rateLimit || rateLimit.take(key, now) ? 0 : rateLimit.waitMs(key, now);
  }

  #queue(isUrgent: boolean): void {
    if (this.#state.kind === 'running') return;
    this.#state = { kind: 'queued' };
    this.#options.limiter.add(this, isUrgent);
  }

  #schedulePoll(): void {
    clearTimeout(this.#poll);
    if (!this.#result || this.#state.kind === 'running') return;
    const pollInMs = this.#pollInMs(this.#result);
    const refreshInMs = this.#lists?.refreshInMs;
    const waitMs = earliest(pollInMs, refreshInMs);
    if (waitMs === undefined) return;
    const run = () => {
      this.#lists?.poll();
      this.#queue(waitMs === refreshInMs);
    };
    this.#poll = setTimeout(run, timerMs(waitMs)).unref();
  }

  /** Polls one interval after the last query or list began, regardless of its cause. The shortest interval applies. */
  #pollInMs(result: Result): number | undefined {
    let waitMs = Number.POSITIVE_INFINITY;
    for (const { intervalMs } of this.#subscribers.values()) waitMs = Math.min(waitMs, intervalMs ?? waitMs);
    if (waitMs === Number.POSITIVE_INFINITY) return undefined;
    if (tagTotal(foundIn(result)) > MANY_TAGS.tags) waitMs = Math.max(waitMs, MANY_TAGS.intervalMs);
    const { startedAt } = this.#lists ?? result;
    const due = Math.max(startedAt + waitMs * (0.95 + Math.random() * 0.1), retryAt(result));
    return Math.max(0, due - performance.now());
  }
}

/** When an error is due for a retry (ms of a monotonic clock); 0 for refs. */
const retryAt = (result: Result): number => (result.kind === 'error' ? result.startedAt + result.retryAfterMs : 0);

function hasAll(covered: Known['covered'], { prefixes, range }: Interest): boolean {
  return prefixes.every((name) => covered.has(name)) && (range === undefined || covered.has(range));
}

/** Whether a result differs from the previous one for a subscriber with these refs. */
export function hasChanged(before: QueryResult | undefined, after: QueryResult, names: readonly string[]): boolean {
  if (before?.kind === 'error' && after.kind === 'error') return before.error.code !== after.error.code;
  if (before?.kind !== 'refs' || after.kind !== 'refs') return true;
  return names.some((name) => before.refs.get(name) !== after.refs.get(name));
}

const foundIn = (result: Result | undefined): Known | undefined =>
  result?.kind === 'error' ? result.lastGood : result;
