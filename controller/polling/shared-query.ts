import type { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { earliest, timerMs } from '../../shared/domain/text/duration.ts';
import { isTyped } from '../../shared/errors.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import { backoff } from './back-off.ts';
import type { Turn } from './git-http.ts';
import { tooManyComparisons } from './host-errors.ts';
import { CALL_TIMEOUT_MS, type HostCall, type HostLimiter } from './host-limiter.ts';
import {
  type AdvertisedRefs,
  type FoundRefs,
  MANY_TAGS,
  type PendingQuery,
  type QueryResult,
  tagTotal,
} from './query-result.ts';
import type { RepositoryClient } from './repository-client.ts';
import { type ListBudget, TagLists } from './tag-lists.ts';

/** The part of a shared query that one resource needs. */
export interface Interest {
  /** Full names of refs. */
  prefixes: readonly string[];
  /** A range of versions whose newest tag it needs. */
  range?: string | undefined;
  /** Time between two polls (ms); undefined if the resource isn't polled. */
  intervalMs: number | undefined;
  /** Identifies an event, such as a request. Only a query that began after the event was first seen is valid for it. */
  event: string | undefined;
  /** Whether `prefixes` has all tags that the event is about, so that it needs no list of all tags. */
  isNamed?: boolean | undefined;
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

/** Prefixes and ranges that a query asked for. */
type Covered = ReadonlySet<string>;

/** The last result, when its query began, and what it asked for. */
type Result = { startedAt: number; covered: Covered } & (
  | Extract<QueryResult, { kind: 'refs' }>
  /** `failingSince` is when the first query began that failed, with no success since then, which had `lastCovered`. */
  | (Extract<QueryResult, { kind: 'error' }> & { failingSince: number; lastCovered: Covered | undefined })
);

/** Full names of refs, and ranges of versions. */
interface Asked {
  prefixes: readonly string[];
  ranges: readonly string[];
}

interface Subscriber extends Interest {
  /** When its event was first seen. */
  eventAt: number;
  /** Since when it waits for a result; undefined if it has one. */
  waitingSince: number | undefined;
}

/** A query shared by the resources of a namespace with the same repository and credential, sent for all at once. */
export class SharedQuery implements HostCall {
  readonly #options: SharedQueryOptions;
  readonly #subscribers = new Map<string, Subscriber>();
  #state: State = { kind: 'idle' };
  #result: Result | undefined;
  #poll: NodeJS.Timeout | undefined;
  readonly #lists: TagLists | undefined;

  constructor(options: SharedQueryOptions) {
    this.#options = options;
    this.#lists = options.listBudget && new TagLists(options.listBudget);
  }

  get id(): string {
    return this.#options.id;
  }

  get host(): string {
    return this.#options.host;
  }

  get namespace(): string {
    return this.#options.namespace;
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
      const result = this.#resultFor(subscriber, this.#result);
      if (result.kind === 'refs') return result;
      return { ...result, retryAfterMs: Math.max(0, this.#result.startedAt + result.retryAfterMs - performance.now()) };
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
    const subscribers = [...this.#subscribers.values()];
    const prefixes = new Set(subscribers.flatMap((subscriber) => subscriber.prefixes));
    const isList = this.#lists?.begin(subscribers, startedAt) === 'all tags';
    const ranges = new Set(isList ? subscribers.flatMap(({ range }) => range ?? []) : []);
    const before = this.#result;
    const { client, commit } = this.#options;
    const asked = { prefixes: [...prefixes], ranges: [...ranges], commit };
    const after = await this.#resultOf(asked, startedAt, client.query(asked, signal, turn));
    this.#state = { kind: 'idle' };
    if (this.isUnused) return;
    const outcome = after.kind === 'refs' ? 'success' : 'failure';
    this.#options.onQuery?.(outcome, (performance.now() - startedAt) / 1000);
    this.#result = after;
    this.#schedulePoll();
    const areTagsNews = isNews(before, after, [...tagsIn(before), ...tagsIn(after)]);
    for (const [key, { waitingSince, intervalMs, prefixes, range }] of this.#subscribers) {
      const isNewsForIt = isNews(before, after, prefixes) || (range !== undefined && areTagsNews);
      const hears = intervalMs !== undefined || range !== undefined;
      if (waitingSince !== undefined || (hears && isNewsForIt)) this.#options.enqueue(key);
    }
  }

  /** Lists the tags again because of an event in the repository that another query has seen, but never the first time. */
  refresh(): void {
    this.#lists?.refresh();
    this.#schedulePoll();
  }

  async #resultOf({ prefixes, ranges }: Asked, startedAt: number, answer: Promise<FoundRefs>): Promise<Result> {
    const covered = new Set([...prefixes, ...ranges]);
    const lists = this.#lists;
    try {
      const known = { ...(await answer), covered };
      if (!lists) return { kind: 'refs', ...known, startedAt };
      return { kind: 'refs', ...(ranges.length > 0 ? lists.keep(known) : lists.add(known)), startedAt };
    } catch (thrown) {
      const error = isTyped(thrown) ? thrown : gitErrorOf('', { cause: thrown });
      const before = this.#result;
      const failingSince = before?.kind === 'error' ? before.failingSince : startedAt;
      const lastGood = before?.kind === 'error' ? before.lastGood : before;
      const lastCovered = before?.kind === 'error' ? before.lastCovered : before?.covered;
      const retryAfterMs = backoff(error, startedAt - failingSince);
      return { kind: 'error', error, lastGood, lastCovered, retryAfterMs, failingSince, startedAt, covered };
    }
  }

  /** The refs of one subscriber only. A query about a commit returns the same refs to all of them. */
  #resultFor({ prefixes, range }: Interest, result: Result): QueryResult {
    if (range !== undefined) return forRange(result, { prefixes, range });
    if (this.#options.commit !== undefined) return result;
    if (result.kind === 'refs') return { kind: 'refs', refs: onlyRefs(result.refs, prefixes) };
    return { ...result, lastGood: result.lastGood && { refs: onlyRefs(result.lastGood.refs, prefixes) } };
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
    const waitMs = rateLimit?.waitMs(key, now) ?? 0;
    if (waitMs === 0) rateLimit?.count(key, now);
    return waitMs;
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

/**
 * A result for ranges keeps no more than one tag for each of them, so it serves no other range, and none that was skipped
 * because it is too large.
 */
function forRange(result: Result, wanted: { prefixes: readonly string[]; range: string }): QueryResult {
  const found = foundIn(result);
  const isSkipped = found?.tags?.skipped.has(wanted.range) === true;
  if (result.kind === 'error')
    return isSkipped || !hasAll(result.lastCovered, wanted) ? { ...result, lastGood: undefined } : result;
  if (!isSkipped) return result;
  const error = tooManyComparisons(wanted.range, tagTotal(found));
  return { kind: 'error', error, lastGood: undefined, retryAfterMs: MANY_TAGS.intervalMs };
}

function hasAll(covered: Covered | undefined, { prefixes, range }: Pick<Interest, 'prefixes' | 'range'>): boolean {
  return [...prefixes, ...(range === undefined ? [] : [range])].every((name) => covered?.has(name));
}

/** Whether a result differs from the previous one for a subscriber with these refs. */
export function isNews(before: QueryResult | undefined, after: QueryResult, prefixes: readonly string[]): boolean {
  if (before?.kind === 'error' && after.kind === 'error') return before.error.code !== after.error.code;
  if (before?.kind !== 'refs' || after.kind !== 'refs') return true;
  return prefixes.some((name) => before.refs.get(name) !== after.refs.get(name));
}

const foundIn = (result: QueryResult | undefined): FoundRefs | undefined =>
  result?.kind === 'error' ? result.lastGood : result;

const tagsIn = (result: QueryResult | undefined): Iterable<string> => foundIn(result)?.refs.keys() ?? [];

function onlyRefs(refs: AdvertisedRefs, names: readonly string[]): AdvertisedRefs {
  const own = new Map<string, string>();
  for (const name of names) {
    const commit = refs.get(name);
    if (commit !== undefined) own.set(name, commit);
  }
  return own;
}
