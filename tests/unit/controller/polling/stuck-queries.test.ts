import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import { Repositories } from '../../../../controller/polling/repositories.ts';
import type { RepositoryClient } from '../../../../controller/polling/repository-client.ts';
import { until } from '../../../support/until.ts';
import { DEFAULT_LIMITS } from '../support/default-limits.ts';

test('polling is stuck for the time by which a query exceeds a minute', async (t) => {
  let asked = 0;
  const query = () => {
    asked += 1;
    return new Promise<never>(() => {});
  };
  const repositories = new Repositories({
    connect: () => ({ query }) as unknown as RepositoryClient,
    limiter: new HostLimiter(DEFAULT_LIMITS),
    gitLimiter: new HostLimiter(DEFAULT_LIMITS),
    enqueue: () => {},
  });
  t.after(() => repositories.stop());
  const source = { namespace: 'ns', git: { repo: 'https://git.test/app.git' } };
  const interest = { prefixes: ['refs/heads/main'], commit: undefined, intervalMs: undefined, event: undefined };
  repositories.query('ns/app', { source, ...interest, isUrgent: true });
  await until(() => asked === 1, { describe: 'the query' });
  assert.equal(repositories.stuckForMs, 0);
  const now = performance.now();
  t.mock.method(performance, 'now', () => now + 90_000);
  assert.ok(repositories.stuckForMs >= 30_000 && repositories.stuckForMs < 90_000, `${repositories.stuckForMs}`);
});
