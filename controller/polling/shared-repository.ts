import { boundedWaitMs, timerMs } from '../../shared/domain/duration.ts';
import { type TerminalError, TransientError } from '../../shared/errors.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import type { Answer, Asking } from '../intent/resolution.ts';
import type { HostLimiter } from './host-limiter.ts';
import type { RepositoryClient, RepositorySource } from './query-repository.ts';
import { changedRefs, concerns, covers, Intervals, unionOf } from './subscriber-needs.ts';
import type { RefQuery } from './wanted-refs.ts';

/** What one resource wants to know of its repository. */
export interface Subscription {
  source: RepositorySource;
  query: RefQuery;
  /** Milliseconds between two polls; undefined where the resource is not polled. */
  intervalMs: number | undefined;
  /** Identifies what must not be answered from memory, such as a request: only a query that begins after it first came counts. */
  event: string | undefined;
}

export interface SharedRepositoryOptions {
  /** Names the repository and the credential. */
  id: string;
  host: string;
  client: Pick<RepositoryClient, 'query'>;
  limiter: HostLimiter;
  /** Told of the resources that have something to look at: the answer that they wait for, or refs that moved. */
  onAnswer: (key: string) => void;
  /** Told of every query that ended: for metrics. */
  onQuery?: (outcome: 'success' | 'failure', seconds: number) => void;
}

type Known = Answer & { startedAt: number; covered: Set<string> };

interface Subscriber extends Omit<Subscription, 'source'> {
  /** When its event first came. */
  eventAt: number;
  /** Since when it waits for an answer. */
  waitingSince: number | undefined;
}

const BACKOFF_MS = { base: 5_000, max: 300_000 };
/** However soon a host wants to be asked again, in milliseconds. */
const LEAST_BACKOFF_MS = 1_000;

/** One repository with one credential: asks and polls it on behalf of all the resources that share it. */
export class SharedRepository {
  readonly #options: SharedRepositoryOptions;
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #intervals = new Intervals();
  readonly #query = () => this.#ask();
  #answer: Known | undefined;
  #queryingSince: number | undefined;
  #poll: { timer: NodeJS.Timeout; due: number } | undefined;
  /** When the first query began that failed, with no success since. */
  #failingSince: number | undefined;

  constructor(options: SharedRepositoryOptions) {
    this.#options = options;
  }

  get id(): string {
    return this.#options.id;
  }

  get isUnused(): boolean {
    return this.#subscribers.size === 0;
  }

  /** Time by which the query that runs is too old, or the next poll too late, in milliseconds; 0 while all is well. */
  get stuckForMs(): number {
    const since = this.#queryingSince ?? this.#poll?.due;
    return since === undefined ? 0 : Math.max(0, performance.now() - since);
  }

  /** Makes the next query, whoever causes it, ask for this resource as well. */
  subscribe(key: string, { query, intervalMs, event }: Subscription): void {
    const before = this.#subscribers.get(key);
    const eventAt = before && before.event === event ? before.eventAt : performance.now();
    this.#subscribers.set(key, { query, intervalMs, event, eventAt, waitingSince: before?.waitingSince });
    this.#changeInterval(before?.intervalMs, intervalMs);
  }

  /** What is known for a subscriber; where that will not do, asks the host and tells by `onAnswer` when to look again. */
  answerFor(key: string): Answer | Asking {
    const subscriber = this.#subscribers.get(key);
    if (subscriber && this.#answer && this.#suffices(subscriber, this.#answer)) {
      subscriber.waitingSince = undefined;
      return this.#answer;
    }
    const now = performance.now();
    if (subscriber) subscriber.waitingSince ??= now;
    if (this.#queryingSince === undefined) this.#options.limiter.add(this.#options.host, this.#query, true);
    return { kind: 'asking', forMs: now - (subscriber?.waitingSince ?? now) };
  }

  /** Ends the interest of a resource. */
  forget(key: string): void {
    const before = this.#subscribers.get(key);
    this.#subscribers.delete(key);
    this.#changeInterval(before?.intervalMs, undefined);
  }

  /** Stops polling. */
  stop(): void {
    clearTimeout(this.#poll?.timer);
    this.#poll = undefined;
    this.#subscribers.clear();
  }

  #suffices({ query, event, eventAt, waitingSince }: Subscriber, answer: Known): boolean {
    const { startedAt, covered } = answer;
    if (event !== undefined && startedAt < eventAt) return false;
    const isCurrent = answer.kind === 'refs' || performance.now() < startedAt + answer.retryAfterMs;
    return (isCurrent || (waitingSince !== undefined && startedAt >= waitingSince)) && covers(covered, query);
  }

  #changeInterval(before: number | undefined, after: number | undefined): void {
    const least = this.#intervals.least;
    this.#intervals.replace(before, after);
    if (this.#intervals.least !== least) this.#schedule();
  }

  /** The next poll comes one interval after the last query, whoever caused that; without one none is due. */
  #schedule(): void {
    clearTimeout(this.#poll?.timer);
    this.#poll = undefined;
    const interval = this.#intervals.least;
    if (interval === undefined || !this.#answer || this.#queryingSince !== undefined) return;
    const wait = Math.max(interval, this.#answer.kind === 'error' ? this.#answer.retryAfterMs : 0);
    const now = performance.now();
    const due = Math.max(now, this.#answer.startedAt + wait * (0.95 + Math.random() * 0.1));
    const timer = setTimeout(
      () => {
        this.#poll = undefined;
        this.#options.limiter.add(this.#options.host, this.#query, false);
      },
      timerMs(due - now),
    );
    timer.unref();
    this.#poll = { timer, due };
  }

  /** Asks for what all subscribers need; never rejects. */
  async #ask(): Promise<void> {
    if (this.isUnused) return;
    const startedAt = performance.now();
    this.#queryingSince = startedAt;
    this.#schedule();
    const query = unionOf(Array.from(this.#subscribers.values(), (subscriber) => subscriber.query));
    const before = this.#answer;
    const answer = await this.#outcomeOf(query, startedAt);
    this.#answer = { ...answer, startedAt, covered: new Set([...query.prefixes, ...query.commits]) };
    this.#queryingSince = undefined;
    const outcome = answer.kind === 'refs' ? 'success' : 'failure';
    this.#options.onQuery?.(outcome, (performance.now() - startedAt) / 1000);
    this.#schedule();
    this.#tell(before, answer);
  }

  async #outcomeOf(query: RefQuery, startedAt: number): Promise<Answer> {
    try {
      const refs = await this.#options.client.query(query);
      this.#failingSince = undefined;
      return { kind: 'refs', refs };
    } catch (thrown) {
      const error = typed(thrown);
      this.#failingSince ??= startedAt;
      const lastGood = this.#answer?.kind === 'error' ? this.#answer.lastGood : this.#answer?.refs;
      return { kind: 'error', error, lastGood, retryAfterMs: backoff(error, startedAt - this.#failingSince) };
    }
  }

  /** Those who wait, and those who poll and to whom the answer is news, whoever asked. */
  #tell(before: Answer | undefined, after: Answer): void {
    const isNews = newsOf(before, after);
    for (const [key, { waitingSince, intervalMs, query }] of this.#subscribers) {
      if (waitingSince !== undefined || (intervalMs !== undefined && isNews(query))) this.#options.onAnswer(key);
    }
  }
}

function newsOf(before: Answer | undefined, after: Answer): (query: RefQuery) => boolean {
  if (before?.kind === 'error' && after.kind === 'error') return () => before.error.code !== after.error.code;
  if (before?.kind !== 'refs' || after.kind !== 'refs') return () => true;
  const changed = new Set(changedRefs(before.refs, after.refs));
  return (query) => concerns(changed, query);
}

/**
 * As long as there has been no success already, with jitter, unless the host itself named a time. It doubles from poll
 * to poll, and questions in between do not raise it: a burst of deliveries during an outage puts no poll off.
 */
function backoff(error: TransientError | TerminalError, failingForMs: number): number {
  const asked = error instanceof TransientError ? error.retryAfterMs : undefined;
  const limit = Math.min(BACKOFF_MS.max, BACKOFF_MS.base + failingForMs);
  return boundedWaitMs(Math.max(LEAST_BACKOFF_MS, asked ?? limit * (0.75 + Math.random() * 0.25)));
}

function typed(error: unknown): TransientError | TerminalError {
  return error instanceof Error && 'reason' in error && 'code' in error
    ? (error as TransientError | TerminalError)
    : gitErrorOf('', error);
}
