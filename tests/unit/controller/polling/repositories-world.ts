import type { TestContext } from 'node:test';
import type { Answer } from '../../../../controller/intent/resolution.ts';
import { refPrefixes } from '../../../../controller/intent/resolve-ref.ts';
import { gitLimitsOf, HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import { RepositoryClient } from '../../../../controller/polling/query-repository.ts';
import { Repositories } from '../../../../controller/polling/repositories.ts';
import type { RefQuery } from '../../../../controller/polling/wanted-refs.ts';
import { startGitServer } from '../../../../scripts/testbed/git-server.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';
import { queryTools } from './query-world.ts';

export const HOUR_MS = 3_600_000;

/** What a resource wants; by default the branch main, polled so seldom that no poll comes. */
export interface Wish {
  ref?: string;
  /** Instead of what the ref needs. */
  query?: RefQuery;
  repo?: string;
  intervalMs?: number | undefined;
  event?: string;
}

/** Repositories that are asked in earnest, and a git server with one repository; keys are `namespace/name`. */
export async function arrange(t: TestContext, deadlineMs?: number) {
  const server = await startGitServer();
  const repository = await server.createRepository('app');
  const first = await repository.commit({ files: { a: '1' } });
  const tools = { ...queryTools(), ...(deadlineMs === undefined ? {} : { deadlineMs }) };
  const told: string[] = [];
  const repositories = new Repositories({
    connect: (source) => new RepositoryClient(tools, source),
    limiter: new HostLimiter(DEFAULT_LIMITS),
    gitLimiter: new HostLimiter(gitLimitsOf(DEFAULT_LIMITS)),
    onAnswer: (key) => told.push(key),
  });
  t.after(async () => {
    repositories.stop();
    tools.http.close();
    await server.stop();
  });
  const subscription = (key: string, wish: Wish) => ({
    source: { namespace: key.split('/')[0] ?? '', git: { repo: wish.repo ?? repository.url } },
    query: wish.query ?? { prefixes: refPrefixes(wish.ref ?? 'main'), commits: [] },
    intervalMs: 'intervalMs' in wish ? wish.intervalMs : HOUR_MS,
    event: wish.event,
    isUrgent: wish.event !== undefined,
  });
  const ask = (key: string, wish: Wish = {}) => repositories.ask(key, subscription(key, wish));
  return {
    server,
    repository,
    first,
    repositories,
    told,
    ask,
    subscribe: (key: string, wish: Wish = {}) => repositories.subscribe(key, subscription(key, wish)),
    /** As the reconciler does it: asks, and looks again each time it is told to. */
    untilAnswered: async (key: string, wish: Wish = {}) => {
      const answer = await until(() => ask(key, wish), {
        describe: `the answer for ${key}`,
        accept: ({ kind }) => kind !== 'asking',
        interval: 5,
      });
      return answer as Answer;
    },
    queries: () => server.requests.filter(({ command }) => command === 'ls-refs').length,
    /** Requests by which commits were asked for. */
    fetches: () => server.requests.filter(({ command }) => command === 'fetch').length,
  };
}

/** What a ref points at, or the code of the error. */
export const commitOf = (answer: Answer, ref: string) =>
  answer.kind === 'refs' ? answer.refs.get(ref) : answer.error.code;
