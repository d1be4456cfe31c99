import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ScrapeAuthorizer } from '../../../../controller/metrics/scrape-authorizer.ts';
import { clientWith } from '../../../support/client-with.ts';

/**
 * An API server that knows one token, and counts its reviews; while held, it doesn't respond about fabricated tokens.
 */
function reviewer(options = {}) {
  const gate = Promise.withResolvers<void>();
  const asked = { tokens: [] as string[], inProgress: 0, most: 0, isHeld: false, isKnown: true, release: gate.resolve };
  const client = clientWith({
    create: async (path: string, { spec }: { spec: { token?: string } }) => {
      if (path.endsWith('subjectaccessreviews')) return { status: { allowed: true } };
      asked.tokens.push(spec.token ?? '');
      asked.inProgress += 1;
      asked.most = Math.max(asked.most, asked.inProgress);
      const isPrometheus = spec.token?.startsWith('prometheus');
      await (asked.isHeld && !isPrometheus ? gate.promise : nextTurn());
      asked.inProgress -= 1;
      return { status: { authenticated: isPrometheus && asked.isKnown, user: { username: 'prometheus' } } };
    },
  });
  return { authorizer: new ScrapeAuthorizer(client, options), asked };
}

suite('scrapers with fabricated tokens', () => {
  test("don't evict the token of an authorized one", async () => {
    const { authorizer, asked } = reviewer();
    assert.equal(await authorizer.authorize('Bearer prometheus', 'other'), 'allowed');
    for (let n = 0; n < 200; n += 1)
      assert.equal(await authorizer.authorize(`Bearer made-up-${n}`, 'flood'), 'unauthenticated');
    assert.equal(await authorizer.authorize('Bearer prometheus', 'other'), 'allowed');
    assert.equal(asked.tokens.filter((token) => token === 'prometheus').length, 1);
  });

  test('cause few requests at a time, because the lease uses the same connections', async () => {
    const { authorizer, asked } = reviewer({ rememberMs: 0 });
    const prometheus = () => authorizer.authorize('Bearer prometheus', 'other');
    await prometheus();
    await Promise.all([
      ...Array.from({ length: 200 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, 'flood')),
      ...Array.from({ length: 10 }, prometheus),
    ]);
    assert.ok(asked.most <= 4, String(asked.most));
  });

  test("don't delay the renewal of an authorized one", async () => {
    const { authorizer, asked } = reviewer({ rememberMs: 0 });
    await authorizer.authorize('Bearer prometheus', 'other');
    asked.isHeld = true;
    const answers = Array.from({ length: 200 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, 'flood'));
    assert.equal(await authorizer.authorize('Bearer prometheus', 'other'), 'allowed');
    asked.isKnown = false;
    assert.equal(await authorizer.authorize('Bearer prometheus', 'other'), 'unauthenticated');
    asked.release();
    await Promise.all(answers);
  });

  test('are rejected at once while many of them wait', async () => {
    const { authorizer, asked } = reviewer();
    asked.isHeld = true;
    const answers = Array.from({ length: 1_000 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, 'flood'));
    asked.release();
    const counts = Object.groupBy(await Promise.all(answers), (access) => access);
    assert.deepEqual([counts.unauthenticated?.length, counts.busy?.length], [3 + 8, 1_000 - 3 - 8]);
    assert.equal(asked.tokens.length, 3 + 8);
    assert.equal(await authorizer.authorize('Bearer prometheus', 'other'), 'allowed', 'all slots are free again');
  });

  test("don't keep out one that comes for the first time, from another network", async () => {
    const { authorizer, asked } = reviewer();
    asked.isHeld = true;
    const answers = Array.from({ length: 1_000 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, 'flood'));
    const first = authorizer.authorize('Bearer prometheus', 'other');
    asked.release();
    assert.equal(await first, 'allowed');
    assert.ok(asked.tokens.indexOf('prometheus') < 3 + 2, 'networks take turns');
    await Promise.all(answers);
  });

  test('have a limited number of places in total, whatever networks they come from', async () => {
    const { authorizer, asked } = reviewer();
    asked.isHeld = true;
    const answers = Array.from({ length: 1_000 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, `n${n}`));
    asked.release();
    await Promise.all(answers);
    assert.equal(asked.tokens.length, 3 + 256);
  });
});
