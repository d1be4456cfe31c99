import { timerMs } from '../../shared/domain/duration.ts';
import { isTyped, type TerminalError, type TransientError } from '../../shared/errors.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import type { Answer, Asking } from '../intent/resolution.ts';
import { backoff } from './back-off.ts';
import type { HostLimiter, Question } from './host-limiter.ts';
import type { RepositoryClient } from './query-repository.ts';
import { covers, Intervals, newsOf, unionOf } from './subscriber-needs.ts';
import type { RefQuery } from './wanted-refs.ts';

/** What one resource wants to know, and how urgently. */
export interface Interest {
  namespace: string;
  query: RefQuery;
  /** Milliseconds between two polls; undefined where the resource is not polled. */
  intervalMs: number | undefined;
  /** Identifies what must not be answered from memory, such as a request: only a query that begins after it first came counts. */
  event: string | undefined;
  /** Whether somebody waits: for a request, a push or an edit that the status says nothing of yet. */
  isUrgent: boolean;
}

export interface SharedQuestionOptions {
  host: string;
  client: Pick<RepositoryClient, 'query'>;
  limiter: HostLimiter;
  /** Called for the resources that have something to look at: the answer that they wait for, or refs that moved. */
  onAnswer: (key: string) => void;
  /** Called for every query that ended: for metrics. */
  onQuery?: (outcome: 'success' | 'failure', seconds: number) => void;
  /** Whether the question must not be asked for so much: some of those who share it have left it. */
  isTooMuch?: (query: RefQuery) => boolean;
  /** Whether an error is nobody's who still shares the question, since others who caused it have left. */
  isNobodys?: (error: TransientError | TerminalError) => boolean;
}

/** Where the question stands: nobody needs it asked, it waits for its turn at the host, or the host is being asked. */
type State = { kind: 'idle' } | { kind: 'queued' } | { kind: 'asking'; since: number };

/** The last answer, when its query began, and what that asked for. */
type Known = {
  startedAt: number;
  covered: ReadonlySet<string>;
} /** `isFinal` where it was asked for commits alone, and all of them exist: they always will. */ & (
  | (Extract<Answer, { kind: 'refs' }> & { isFinal: boolean })
  /** `failingSince` is when the first query began that failed, with no success since. */
  | (Extract<Answer, { kind: 'error' }> & { failingSince: number })
);

interface Subscriber extends Interest {
  /** When its event first came. */
  eventAt: number;
  need: { kind: 'met' } | { kind: 'waiting'; since: number };
}

/** A question that any number of resources share: asked once for all of them, and again when the first of them wants it polled. */
export class SharedQuestion implements Question {
  readonly host: string;
  readonly #options: SharedQuestionOptions;
  readonly #subscribers = new Map<string, Subscriber>();
  readonly #intervals = new Intervals();
  #state: State = { kind: 'idle' };
  #answer: Known | undefined;
  #poll: { timer: NodeJS.Timeout; due: number } | undefined;

  constructor(options: SharedQuestionOptions) {
    this.host = options.host;
    this.#options = options;
  }

  get isUnused(): boolean {
    return this.#subscribers.size === 0;
  }

  get isFailing(): boolean {
    return this.#answer?.kind === 'error';
  }

  /** Whether an answer is on its way, whoever needs it. */
  get isUnderWay(): boolean {
    return this.#state.kind !== 'idle';
  }

  /** Refs are asked for together, each commit on its own. */
  get requests(): number {
    const [first] = this.#subscribers.values();
    return 1 + (first?.query.commits.length ?? 0);
  }

  /** Time by which the query that runs is too old, or the next poll too late, in milliseconds; 0 while all is well. */
  get stuckForMs(): number {
    const since = this.#state.kind === 'asking' ? this.#state.since : this.#poll?.due;
    return since === undefined ? 0 : Math.max(0, performance.now() - since);
  }

  /** Makes the next query, whoever causes it, ask for this resource as well. */
  subscribe(key: string, interest: Interest): void {
    const before = this.#subscribers.get(key);
    const eventAt = before && before.event === interest.event ? before.eventAt : performance.now();
    this.#subscribers.set(key, { ...interest, eventAt, need: before?.need ?? { kind: 'met' } });
    this.#changeInterval(before?.intervalMs, interest.intervalMs);
  }

  /** What is known for a subscriber; undefined where that will not do. */
  answerFor(key: string): Answer | undefined {
    const subscriber = this.#subscribers.get(key);
    if (!subscriber || !this.#answer || !suffices(this.#answer, subscriber)) return undefined;
    subscriber.need = { kind: 'met' };
    return this.#answer;
  }

  /** Lets a subscriber wait for the next answer. */
  wait(key: string): Asking {
    const subscriber = this.#subscribers.get(key);
    const now = performance.now();
    if (subscriber?.need.kind === 'met') subscriber.need = { kind: 'waiting', since: now };
    return { kind: 'asking', forMs: subscriber?.need.kind === 'waiting' ? now - subscriber.need.since : 0 };
  }

  /** Has the host asked, for the sake of a subscriber; `onAnswer` tells when to look again. */
  order(key: string): void {
    const subscriber = this.#subscribers.get(key);
    if (subscriber) this.#queue([subscriber.namespace], subscriber.isUrgent);
  }

  /** Ends the interest of a resource. */
  forget(key: string): void {
    const before = this.#subscribers.get(key);
    this.#subscribers.delete(key);
    this.#changeInterval(before?.intervalMs, undefined);
    if (this.isUnused) this.stop();
  }

  /** Asks no more. */
  stop(): void {
    clearTimeout(this.#poll?.timer);
    this.#poll = undefined;
    this.#subscribers.clear();
    this.#options.limiter.remove(this);
    this.#answer = undefined; // nobody keeps it up to date
    if (this.#state.kind === 'queued') this.#state = { kind: 'idle' };
  }

  /** Asks for what all subscribers need; never rejects. Called by the limiter. */
  async ask(): Promise<void> {
    const since = performance.now();
    this.#state = { kind: 'asking', since };
    this.#schedule();
    let query = this.#wanted();
    if (this.#options.isTooMuch?.(query)) query = this.#wanted();
    const before = this.#answer;
    const after = await this.#outcomeOf(query, since);
    this.#state = { kind: 'idle' };
    const outcome = after.kind === 'refs' ? 'success' : 'failure';
    this.#options.onQuery?.(outcome, (performance.now() - since) / 1000);
    if (after.kind === 'error' && this.#options.isNobodys?.(after.error)) return this.#askAgain();
    if (this.isUnused) return;
    this.#answer = after;
    this.#schedule();
    this.#tell(before, after);
  }

  #wanted(): RefQuery {
    return unionOf(Array.from(this.#subscribers.values(), ({ query }) => query));
  }

  /** For all who are left: none of them gets an error that is not theirs. */
  #askAgain(): void {
    if (this.isUnused) return;
    const left = Array.from(this.#subscribers.values());
    const isUrgent = left.some(({ need, isUrgent }) => need.kind === 'waiting' && isUrgent);
    this.#queue(new Set(left.map(({ namespace }) => namespace)), isUrgent);
  }

  #queue(namespaces: Iterable<string>, isUrgent: boolean): void {
    if (this.#state.kind === 'asking') return;
    this.#state = { kind: 'queued' };
    for (const namespace of namespaces) {
      this.#options.limiter.add(this, { namespace, isUrgent });
      if ((this.#state as State).kind === 'asking') return; // it was its turn already
    }
  }

  #changeInterval(before: number | undefined, after: number | undefined): void {
    const least = this.#intervals.least;
    this.#intervals.replace(before, after);
    if (this.#intervals.least !== least) this.#schedule();
  }

  /** The next poll comes one interval after the last query, whoever caused that. */
  #schedule(): void {
    clearTimeout(this.#poll?.timer);
    this.#poll = undefined;
    const interval = this.#intervals.least;
    if (interval === undefined || !this.#answer || this.#state.kind === 'asking' || this.isUnused) return;
    if (this.#answer.kind === 'refs' && this.#answer.isFinal) return;
    const wait = Math.max(interval, this.#answer.kind === 'error' ? this.#answer.retryAfterMs : 0);
    const now = performance.now();
    const due = Math.max(now, this.#answer.startedAt + wait * (0.95 + Math.random() * 0.1));
    const timer = setTimeout(() => this.#pollNow(), timerMs(due - now));
    timer.unref();
    this.#poll = { timer, due };
  }

  /** A poll is for the sake of all who poll, so that it comes in time for each, however much else one of them has waiting. */
  #pollNow(): void {
    this.#poll = undefined;
    const polling = Array.from(this.#subscribers.values()).filter(({ intervalMs }) => intervalMs !== undefined);
    this.#queue(new Set(polling.map(({ namespace }) => namespace)), false);
  }

  async #outcomeOf(query: RefQuery, startedAt: number): Promise<Known> {
    const covered = new Set([...query.prefixes, ...query.commits]);
    try {
      const refs = await this.#options.client.query(query);
      const isFinal = query.commits.length > 0 && query.commits.every((commit) => refs.has(commit));
      return { kind: 'refs', refs, isFinal, startedAt, covered };
    } catch (thrown) {
      const error = isTyped(thrown) ? thrown : gitErrorOf('', { cause: thrown });
      const before = this.#answer;
      const failingSince = before?.kind === 'error' ? before.failingSince : startedAt;
      const lastGood = before?.kind === 'error' ? before.lastGood : before?.refs;
      const retryAfterMs = backoff(error, startedAt - failingSince);
      return { kind: 'error', error, lastGood, retryAfterMs, failingSince, startedAt, covered };
    }
  }

  /** Those who wait, and those who poll and to whom the answer is news, whoever asked. */
  #tell(before: Answer | undefined, after: Answer): void {
    const isNews = newsOf(before, after);
    for (const [key, { need, intervalMs, query }] of this.#subscribers) {
      if (need.kind === 'waiting' || (intervalMs !== undefined && isNews(query))) this.#options.onAnswer(key);
    }
  }
}

/** Whether an answer asked for all that a subscriber needs, is no older than its event, and no error of a while ago. */
function suffices(answer: Known, { query, event, eventAt, need }: Subscriber): boolean {
  const { startedAt, covered } = answer;
  if (event !== undefined && startedAt < eventAt) return false;
  const isCurrent = answer.kind === 'refs' || performance.now() < startedAt + answer.retryAfterMs;
  return (isCurrent || (need.kind === 'waiting' && startedAt >= need.since)) && covers(covered, query);
}
