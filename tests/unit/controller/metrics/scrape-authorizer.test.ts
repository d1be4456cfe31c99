import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ScrapeAuthorizer } from '../../../../controller/metrics/scrape-authorizer.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { until } from '../../../support/until.ts';

const flood = { address: '10.0.0.1', isGone: () => false };
const other = { address: '10.0.0.2', isGone: () => false };

/** An API server that knows one token, and how much it is asked; about made-up tokens it says nothing while it is held. */
function reviewer(options = {}) {
  const gate = Promise.withResolvers<void>();
  const asked = { tokens: [] as string[], underWay: 0, most: 0, isHeld: false, isKnown: true, release: gate.resolve };
  const client = {
    create: async (path: string, { spec }: { spec: { token?: string } }) => {
      if (path.endsWith('subjectaccessreviews')) return { status: { allowed: true } };
      asked.tokens.push(spec.token ?? '');
      asked.underWay += 1;
      asked.most = Math.max(asked.most, asked.underWay);
      const isPrometheus = spec.token?.startsWith('prometheus');
      await (asked.isHeld && !isPrometheus ? gate.promise : nextTurn());
      asked.underWay -= 1;
      return { status: { authenticated: isPrometheus && asked.isKnown, user: { username: 'prometheus' } } };
    },
  } as unknown as KubernetesClient;
  return { authorizer: new ScrapeAuthorizer(client, options), asked };
}

suite('callers with made-up tokens', () => {
  test('do not have the one forgotten who may read', async () => {
    const { authorizer, asked } = reviewer();
    assert.equal(await authorizer.authorize('Bearer prometheus', other), 'allowed');
    for (let n = 0; n < 200; n += 1)
      assert.equal(await authorizer.authorize(`Bearer made-up-${n}`, flood), 'unauthenticated');
    assert.equal(await authorizer.authorize('Bearer prometheus', other), 'allowed');
    assert.equal(asked.tokens.filter((token) => token === 'prometheus').length, 1);
  });

  test('have the API server asked by few calls at a time: the lease goes over the same connections', async () => {
    const { authorizer, asked } = reviewer({ rememberMs: 0 });
    const prometheus = () => authorizer.authorize('Bearer prometheus', other);
    await prometheus();
    await Promise.all([
      ...Array.from({ length: 200 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, flood)),
      ...Array.from({ length: 10 }, prometheus),
    ]);
    assert.ok(asked.most <= 4, String(asked.most));
  });

  test('do not hold up the one who is asked about again', async () => {
    const { authorizer, asked } = reviewer({ rememberMs: 0 });
    await authorizer.authorize('Bearer prometheus', other);
    asked.isHeld = true;
    const answers = Array.from({ length: 200 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, flood));
    assert.equal(await authorizer.authorize('Bearer prometheus', flood), 'allowed');
    asked.isKnown = false;
    assert.equal(await authorizer.authorize('Bearer prometheus', flood), 'unauthenticated');
    asked.release();
    await Promise.all(answers);
  });

  test('are refused at once where many of them wait', async () => {
    const { authorizer, asked } = reviewer();
    asked.isHeld = true;
    const access = { busy: 0, unauthenticated: 0, allowed: 0, forbidden: 0 };
    const ask = async (n: number, address: string) => {
      access[await authorizer.authorize(`Bearer made-up-${n}`, { ...flood, address })] += 1;
    };
    const answers = Array.from({ length: 1_000 }, (_, n) => ask(n, flood.address));
    await until(() => access.busy === 1_000 - 3 - 16, { describe: 'few of one address wait' });
    answers.push(...Array.from({ length: 1_000 }, (_, n) => ask(n, `10.1.0.${n % 250}`)));
    await until(() => access.busy === 2_000 - 3 - 64, { describe: 'few wait in all' });
    asked.release();
    await Promise.all(answers);
    assert.equal(access.unauthenticated, 3 + 64);
    assert.equal(asked.tokens.length, 3 + 64);
    assert.equal(await authorizer.authorize('Bearer prometheus', flood), 'allowed', 'all slots are free again');
  });

  test('make room for, and take turns with, other addresses', async () => {
    const { authorizer, asked } = reviewer();
    asked.isHeld = true;
    const addresses = ['10.0.0.1', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6'];
    const answers = addresses.flatMap((address) =>
      Array.from({ length: 50 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`, { ...flood, address })),
    );
    const scrape = authorizer.authorize('Bearer prometheus-new', other);
    asked.release();
    assert.equal(await scrape, 'allowed');
    await Promise.all(answers);
    assert.ok(asked.tokens.indexOf('prometheus-new') <= 3 + addresses.length, asked.tokens.join(' '));
  });

  test('are not asked about where they have gone', async () => {
    const { authorizer, asked } = reviewer();
    asked.isHeld = true;
    const isGone = () => true;
    const answers = Array.from({ length: 10 }, (_, n) =>
      authorizer.authorize(`Bearer gone-${n}`, { ...flood, isGone }),
    );
    asked.release();
    await Promise.all(answers);
    assert.equal(asked.tokens.length, 3, 'those that had a slot');
  });
});
