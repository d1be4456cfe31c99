import { parseRepository, repositoryKey } from '../../shared/domain/git/repository.ts';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import type { HostLimiter } from './host-limiter.ts';
import type { FoundRefs, NeededRefs, PendingQuery, QueryResult } from './query-result.ts';
import { ALL_PREFIXES } from './ref-query.ts';
import type { RepositorySource } from './repository-client.ts';
import { type Interest, SharedQuery, type SharedQueryOptions } from './shared-query.ts';
import type { ListBudget } from './tag-lists.ts';

export interface RepositoriesOptions extends Pick<SharedQueryOptions, 'limiter' | 'enqueue' | 'onQuery'> {
  connect: (source: RepositorySource) => SharedQueryOptions['client'];
  /** Limits the queries that the git binary sends. */
  gitLimiter: HostLimiter;
}

/** What one resource needs, and from which repository. */
export interface Subscription extends Interest, Pick<NeededRefs, 'commit'> {
  source: RepositorySource;
}

/** Lists of all tags of a repository that a namespace can cause besides its polls: enough for releases, not for a flood. */
const LIST_LIMIT = { perMinute: 1, burst: 5, maxKeys: 10_000 };
/** Lookups of commits that one resource can cause: enough for each check of a commit that the host doesn't show yet. */
const COMMIT_LIMIT = { perMinute: 6, burst: 6, maxKeys: 10_000 };

/**
 * Queries the repositories of all resources. Resources of one namespace with the same repository and credential share one
 * query for refs, and those that request the same commit one more for that. Nothing here waits for a git server.
 */
export class Repositories {
  readonly #options: RepositoriesOptions;
  readonly #queries = new Map<string, SharedQuery>();
  /** The queries that a resource shares, and its last event, such as a request. */
  readonly #subscribed = new Map<string, { queries: readonly SharedQuery[]; event: string | undefined }>();
  /** Kept while a resource is paused or replaced, so that neither resets its limit. */
  readonly #commitLimit = new RateLimit(COMMIT_LIMIT);
  readonly #listLimit = new RateLimit(LIST_LIMIT);

  constructor(options: RepositoriesOptions) {
    this.#options = options;
  }

  /** Longest time by which a query has exceeded its limit (ms). */
  get stuckForMs(): number {
    let longest = 0;
    for (const { stuckForMs } of this.#queries.values()) longest = Math.max(longest, stuckForMs);
    return longest;
  }

  /**
   * Includes what a resource needs in the next query of its repository, whichever resource causes it. Lists the tags of the
   * repository again after an event that can mean other new tags than it names. Without polls, a request that names a tag
   * is one as well, because the tag of an earlier request that it replaced would never be found.
   */
  subscribe(key: string, { source, commit, ...interest }: Subscription): void {
    const { event, range, isNamed, intervalMs } = interest;
    const isNew = event !== undefined && event !== this.#subscribed.get(key)?.event;
    const isAboutOthers = range === undefined || (isNamed && intervalMs === undefined);
    if (isNew && isAboutOthers) this.#queries.get(identityOf(source, RANGES))?.refresh();
    const queries: SharedQuery[] = [];
    if (range !== undefined) queries.push(this.#join(key, interest, source, RANGES));
    else if (interest.prefixes.length > 0) queries.push(this.#join(key, interest, source));
    if (commit !== undefined) {
      const unpolled = { ...interest, prefixes: ALL_PREFIXES, intervalMs: undefined };
      queries.push(this.#join(key, unpolled, source, { commit }));
    }
    for (const query of this.#queriesOf(key)) if (!queries.includes(query)) this.#leave(key, query);
    this.#subscribed.set(key, { queries, event });
  }

  /** Subscribes a resource, and returns what is known for it. If that isn't enough, queues a query. */
  query(key: string, subscription: Subscription): QueryResult | PendingQuery {
    this.subscribe(key, subscription);
    return combine(this.#queriesOf(key).map((query) => query.query(key)));
  }

  /** Drops the subscriptions of a resource that is paused or gone. */
  unsubscribe(key: string): void {
    for (const query of this.#queriesOf(key)) this.#leave(key, query);
    this.#subscribed.delete(key);
  }

  /** Stops polling. */
  stop(): void {
    for (const query of this.#queries.values()) query.stop();
  }

  /** All queries of a namespace for one repository share a budget, whatever their credentials are. */
  #listBudgetOf({ namespace, git: { repo } }: RepositorySource): ListBudget {
    const limit = this.#listLimit;
    const key = JSON.stringify([namespace, repositoryKey(repo)]);
    return {
      waitMs: () => limit.waitMs(key, performance.now()),
      take: () => limit.take(key, performance.now()),
    };
  }

  #queriesOf(key: string): readonly SharedQuery[] {
    return this.#subscribed.get(key)?.queries ?? [];
  }

  #join(key: string, interest: Interest, source: RepositorySource, about?: About): SharedQuery {
    const id = identityOf(source, about);
    const query = this.#queries.get(id) ?? this.#create(id, source, about);
    query.subscribe(key, interest);
    return query;
  }

  #create(id: string, source: RepositorySource, { commit, ranges }: About = {}): SharedQuery {
    const { connect, limiter, gitLimiter, enqueue, onQuery } = this.#options;
    const repository = parseRepository(source.git.repo);
    const isByGit = repository !== undefined && repository.transport !== 'http';
    const query = new SharedQuery({
      id,
      host: repository?.host ?? '',
      namespace: source.namespace,
      client: connect(source),
      limiter: isByGit ? gitLimiter : limiter,
      commit,
      rateLimit: commit === undefined ? undefined : this.#commitLimit,
      listBudget: ranges && this.#listBudgetOf(source),
      enqueue,
      onQuery,
    });
    this.#queries.set(id, query);
    return query;
  }

  #leave(key: string, query: SharedQuery): void {
    query.unsubscribe(key);
    if (query.isUnused) this.#queries.delete(query.id);
  }
}

/** The topic of a query for other refs than those of a few names. */
interface About {
  ranges?: true;
  commit?: string;
}

/** The query for ranges fetches all tags, so it is sent less often than one for a few refs. */
const RANGES: About = { ranges: true };

/** Namespace, repository and credential, and the topic if there is one. Secrets are read again for each query. */
const identityOf = ({ namespace, git: { repo, auth, caSecretRef } }: RepositorySource, about?: About) => {
  const { url = repo, user } = parseRepository(repo) ?? {};
  return JSON.stringify([namespace, url, user, auth, caSecretRef, about]);
};

/** One result of several: nothing is known before all have arrived, and an error of one is an error of all. */
function combine(parts: (QueryResult | PendingQuery)[]): QueryResult | PendingQuery {
  let known: FoundRefs | undefined;
  let failed: (QueryResult & { kind: 'error' }) | undefined;
  for (const part of parts) {
    if (part.kind === 'querying') return part;
    if (part.kind === 'error') failed ??= part;
    const found = part.kind === 'refs' ? part : part.lastGood;
    if (found) known = { refs: new Map([...(known?.refs ?? []), ...found.refs]), tags: known?.tags ?? found.tags };
  }
  return failed ? { ...failed, lastGood: known } : { kind: 'refs', ...(known ?? { refs: new Map() }) };
}
