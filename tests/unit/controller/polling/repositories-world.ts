import type { TestContext } from 'node:test';
import { refPrefixes } from '../../../../controller/intent/resolve-ref.ts';
import { gitLimitsOf, HostLimiter, type HostLimits } from '../../../../controller/polling/host-limiter.ts';
import type { QueryResult } from '../../../../controller/polling/query-result.ts';
import { Repositories } from '../../../../controller/polling/repositories.ts';
import { RepositoryClient } from '../../../../controller/polling/repository-client.ts';
import { startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';
import { queryTools } from './query-world.ts';

export const HOUR_MS = 3_600_000;

/** Needs of a resource; by default the branch main, with such a long interval that no poll occurs. */
export interface Wish {
  ref?: string;
  /** Instead of the names that the ref needs. */
  prefixes?: string[];
  /** A range of versions. */
  range?: string;
  /** A requested hash. */
  commit?: string;
  repo?: string;
  intervalMs?: number | undefined;
  event?: string;
  /** The event names the tags in `prefixes`. */
  isNamed?: boolean;
}

/** Real queries of a git server with one repository; keys are `namespace/name`. */
export async function arrange(t: TestContext, limits: HostLimits = DEFAULT_LIMITS) {
  const server = await startGitServer();
  const repository = await server.createRepository('app');
  const first = await repository.commit({ files: { a: '1' } });
  const tools = queryTools();
  const enqueued: string[] = [];
  const repositories = new Repositories({
    connect: (source) => new RepositoryClient(tools, source),
    limiter: new HostLimiter(limits),
    gitLimiter: new HostLimiter(gitLimitsOf(limits)),
    enqueue: (key) => enqueued.push(key),
  });
  t.after(async () => {
    repositories.stop();
    tools.http.close();
    await server.stop();
  });
  const subscription = (key: string, wish: Wish) => ({
    source: { namespace: key.split('/')[0] ?? '', git: { repo: wish.repo ?? repository.url } },
    prefixes: wish.prefixes ?? (wish.range === undefined ? refPrefixes(wish.ref ?? 'main') : []),
    range: wish.range,
    commit: wish.commit,
    intervalMs: 'intervalMs' in wish ? wish.intervalMs : HOUR_MS,
    event: wish.event,
    isNamed: wish.isNamed,
    isUrgent: wish.event !== undefined,
  });
  const query = (key: string, wish: Wish = {}) => repositories.query(key, subscription(key, wish));
  return {
    server,
    repository,
    first,
    repositories,
    enqueued,
    query,
    subscribe: (key: string, wish: Wish = {}) => repositories.subscribe(key, subscription(key, wish)),
    /** Queries until there is a result, as the reconciler does. */
    untilAnswered: async (key: string, wish: Wish = {}) => {
      const answer = await until(() => query(key, wish), {
        describe: `the answer for ${key}`,
        accept: ({ kind }) => kind !== 'querying',
        interval: 5,
      });
      return answer as QueryResult;
    },
    queries: () => server.requests.filter(({ command }) => command === 'ls-refs').length,
    /** Requests for all tags. */
    lists: () => server.requests.filter(({ listsTags }) => listsTags).length,
    /** Requests for commits. */
    fetches: () => server.requests.filter(({ command }) => command === 'fetch').length,
  };
}

/** The commit of a ref, or the code of the error. */
export const commitOf = (answer: QueryResult, ref: string) =>
  answer.kind === 'refs' ? answer.refs.get(ref) : answer.error.code;
