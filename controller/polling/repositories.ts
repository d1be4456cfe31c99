import { createHash } from 'node:crypto';
import { parseRepository } from '../../shared/domain/repository.ts';
import { type TerminalError, TransientError } from '../../shared/errors.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import type { AdvertisedRefs } from '../domain/resolve-ref.ts';
import { HostLimiter } from './host-limiter.ts';
import type { RefQuery, RepositoryClient, RepositorySource } from './query-repository.ts';

/** What one resource wants to know of its repository. */
export interface Subscription {
  source: RepositorySource;
  query: RefQuery;
  /** Milliseconds between two polls; undefined where the resource is not polled. */
  intervalMs: number | undefined;
}

/** What a repository answered last; beside an error what it said before, if anything. */
export type Answer =
  | { kind: 'refs'; refs: AdvertisedRefs }
  | {
      kind: 'error';
      error: TransientError | TerminalError;
      lastGood: AdvertisedRefs | undefined;
      /** When it makes sense to ask again, in milliseconds from the query. */
      retryAfterMs: number;
    };

export interface RepositoriesOptions {
  connect: (source: RepositorySource) => Pick<RepositoryClient, 'query'>;
  /** Told of the resources for which a poll found something new. */
  onChange: (key: string) => void;
  /** Told of every query that ended: for metrics. */
  onQuery?: (outcome: 'success' | 'failure', seconds: number) => void;
}

const BACKOFF_MS = { base: 5_000, max: 300_000 };
/** Beyond so many prefixes a host is asked for all branches and tags instead. */
const MAX_PREFIXES = 2_000;
const ALL_PREFIXES = ['refs/heads/', 'refs/tags/'];

interface Entry {
  host: string;
  client: Pick<RepositoryClient, 'query'>;
  subscribers: Map<string, Subscription>;
  answer: (Answer & { startedAt: number; covered: Set<string> }) | undefined;
  running: Promise<void> | undefined;
  timer: NodeJS.Timeout | undefined;
  failures: number;
}

/**
 * Knows what repositories say: one query for each distinct repository and credential, however many resources share
 * it. Polls in the background and tells only those whose refs moved; asks at once where somebody must know.
 */
export class Repositories {
  readonly #options: RepositoriesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #entryOf = new Map<string, string>();
  readonly #limiter = new HostLimiter();
  #stopped = false;

  constructor(options: RepositoriesOptions) {
    this.#options = options;
  }

  /** Makes the next query of the repository, whoever needs it, ask for this resource as well. */
  subscribe(key: string, subscription: Subscription): void {
    this.#entryFor(key, subscription);
  }

  /**
   * Subscribes a resource and gives what is known for it. Asks the host first where nothing is known yet, or where
   * `fresh` is true: then nothing that began before this call counts.
   */
  async ask(key: string, subscription: Subscription, fresh: boolean): Promise<Answer> {
    const entry = this.#entryFor(key, subscription);
    const notBefore = fresh ? performance.now() : 0;
    const needs = needsOf(subscription);
    const isCovered = () =>
      entry.answer !== undefined &&
      entry.answer.startedAt >= notBefore &&
      !isStale(entry.answer) &&
      covers(entry.answer.covered, needs);
    if (!isCovered() && entry.running) await entry.running;
    if (!isCovered()) await this.#queryOnce(entry, true);
    this.#schedule(entry);
    return entry.answer ?? stopped;
  }

  /** Ends the interest of a resource that is gone, or that is handled elsewhere. */
  forget(key: string): void {
    const id = this.#entryOf.get(key);
    const entry = id === undefined ? undefined : this.#entries.get(id);
    this.#entryOf.delete(key);
    if (!entry || id === undefined) return;
    entry.subscribers.delete(key);
    if (entry.subscribers.size === 0) {
      clearTimeout(entry.timer);
      this.#entries.delete(id);
    } else this.#schedule(entry);
  }

  /** Stops polling. */
  stop(): void {
    this.#stopped = true;
    for (const entry of this.#entries.values()) clearTimeout(entry.timer);
  }

  #entryFor(key: string, subscription: Subscription): Entry {
    const id = identityOf(subscription.source);
    if (this.#entryOf.get(key) !== id) this.forget(key);
    const entry = this.#entries.get(id) ?? this.#makeEntry(subscription.source);
    this.#entries.set(id, entry);
    this.#entryOf.set(key, id);
    entry.subscribers.set(key, subscription);
    return entry;
  }

  #makeEntry(source: RepositorySource): Entry {
    return {
      host: parseRepository(source.git.repo)?.host ?? '',
      client: this.#options.connect(source),
      subscribers: new Map(),
      answer: undefined,
      running: undefined,
      timer: undefined,
      failures: 0,
    };
  }

  #queryOnce(entry: Entry, urgent: boolean): Promise<void> {
    entry.running ??= this.#limiter
      .run(entry.host, urgent, () => this.#query(entry))
      .finally(() => {
        entry.running = undefined;
      });
    return entry.running;
  }

  /** Asks for what all subscribers need; never rejects. */
  async #query(entry: Entry): Promise<void> {
    const startedAt = performance.now();
    const query = unionOf(entry.subscribers.values());
    const covered = new Set([...query.prefixes, ...query.commits]);
    let outcome: 'success' | 'failure' = 'success';
    try {
      entry.answer = { kind: 'refs', refs: await entry.client.query(query), startedAt, covered };
      entry.failures = 0;
    } catch (error) {
      const lastGood = entry.answer?.kind === 'refs' ? entry.answer.refs : entry.answer?.lastGood;
      const failure = typed(error);
      entry.failures += 1;
      entry.answer = {
        kind: 'error',
        error: failure,
        lastGood,
        startedAt,
        covered,
        retryAfterMs: backoff(failure, entry.failures),
      };
      outcome = 'failure';
    }
    this.#options.onQuery?.(outcome, (performance.now() - startedAt) / 1000);
  }

  #schedule(entry: Entry): void {
    clearTimeout(entry.timer);
    const intervals = [...entry.subscribers.values()].flatMap(({ intervalMs }) => intervalMs ?? []);
    if (intervals.length === 0 || this.#stopped) return;
    const wait = Math.max(Math.min(...intervals), entry.answer?.kind === 'error' ? entry.answer.retryAfterMs : 0);
    const due = (entry.answer?.startedAt ?? performance.now()) + wait * (0.95 + Math.random() * 0.1);
    entry.timer = setTimeout(() => this.#poll(entry), Math.max(0, due - performance.now()));
    entry.timer.unref();
  }

  async #poll(entry: Entry): Promise<void> {
    const before = entry.answer;
    await this.#queryOnce(entry, false);
    this.#schedule(entry);
    for (const [key, subscription] of entry.subscribers) {
      const isPolled = subscription.intervalMs !== undefined;
      if (isPolled && differs(before, entry.answer, needsOf(subscription))) this.#options.onChange(key);
    }
  }
}

const stopped: Answer = {
  kind: 'error',
  error: gitErrorOf('', new Error('stopped')),
  lastGood: undefined,
  retryAfterMs: BACKOFF_MS.max,
};

function needsOf({ query }: Subscription): string[] {
  return [...query.prefixes, ...query.commits];
}

function covers(covered: Set<string>, needs: string[]): boolean {
  return needs.every(
    (need) => covered.has(need) || ALL_PREFIXES.some((all) => need.startsWith(all) && covered.has(all)),
  );
}

function unionOf(subscriptions: Iterable<Subscription>): RefQuery {
  const prefixes = new Set<string>();
  const commits = new Set<string>();
  for (const { query } of subscriptions) {
    for (const prefix of query.prefixes) prefixes.add(prefix);
    for (const commit of query.commits) commits.add(commit);
  }
  if (prefixes.size > MAX_PREFIXES) {
    const others = [...prefixes].filter((prefix) => !ALL_PREFIXES.some((all) => prefix.startsWith(all)));
    return { prefixes: [...ALL_PREFIXES, ...others], commits: [...commits] };
  }
  return { prefixes: [...prefixes], commits: [...commits] };
}

function differs(before: Answer | undefined, after: Answer | undefined, needs: string[]): boolean {
  if (before?.kind === 'error' && after?.kind === 'error') return before.error.code !== after.error.code;
  if (before?.kind !== 'refs' || after?.kind !== 'refs') return true;
  return needs.some((need) => relevant(before.refs, need) !== relevant(after.refs, need));
}

/** What a need stands for: one ref, or all below a folder. */
function relevant(refs: AdvertisedRefs, need: string): string | undefined {
  if (!need.endsWith('/')) return refs.get(need);
  const below = [...refs].filter(([name]) => name.startsWith(need));
  return below
    .map((line) => line.join(' '))
    .sort()
    .join('\n');
}

/** Exponential, with jitter, unless the host itself named a time. */
function backoff(error: TransientError | TerminalError, failures: number): number {
  const asked = error instanceof TransientError ? error.retryAfterMs : undefined;
  const limit = Math.min(BACKOFF_MS.max, BACKOFF_MS.base * 2 ** (failures - 1));
  return asked ?? limit * (0.75 + Math.random() * 0.25);
}

/** An error is good for nothing once its back-off is over: whoever asks then asks the host. */
function isStale(answer: Answer & { startedAt: number }): boolean {
  return answer.kind === 'error' && performance.now() >= answer.startedAt + answer.retryAfterMs;
}

function typed(error: unknown): TransientError | TerminalError {
  return error instanceof Error && 'reason' in error && 'code' in error
    ? (error as TransientError | TerminalError)
    : gitErrorOf('', error);
}

/** Repository and credential; a changed Secret keeps its identity, since it is read anew for each query. */
function identityOf({ namespace, git }: RepositorySource): string {
  const scope = git.auth || git.caSecretRef ? namespace : '';
  const identity = JSON.stringify([git.repo, scope, git.auth ?? null, git.caSecretRef ?? null]);
  return createHash('sha256').update(identity).digest('base64');
}
