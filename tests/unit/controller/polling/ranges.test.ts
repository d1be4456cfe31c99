import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { slow } from '../../../support/depth.ts';
import { until } from '../../../support/until.ts';
import { arrange, commitOf } from './repositories-world.ts';

type World = Awaited<ReturnType<typeof arrange>>;

/** Resources of namespace `a` with the range ~1, whose query has run. */
async function arrangeRanges(t: TestContext) {
  const world = await arrange(t);
  await world.repository.tag('v1.0.0');
  await world.untilAnswered('a/range', { range: '~1' });
  return world;
}

suite('a query for ranges', () => {
  test('is one for all resources of a namespace, with the newest tag of each range', async (t) => {
    const { repository, first, subscribe, untilAnswered, queries } = await arrange(t);
    for (const tag of ['v1.0.0', 'v1.0.1', 'v2.0.0', 'latest']) await repository.tag(tag);
    subscribe('a/one', { range: '~1' });
    subscribe('a/two', { range: '~2' });
    const answer = await untilAnswered('a/one', { range: '~1' });
    await untilAnswered('a/two', { range: '~2' });
    assert.equal(queries(), 1);
    assert.ok(answer.kind === 'refs');
    assert.equal(answer.tags?.counts.get(''), 4);
    assert.deepEqual([...answer.refs].sort(), [
      ['refs/tags/latest', first],
      ['refs/tags/v1.0.1', first],
      ['refs/tags/v2.0.0', first],
    ]);
  });

  test('has no tag that was deleted', async (t) => {
    const { repository, untilAnswered } = await arrangeRanges(t);
    await repository.deleteRef('refs/tags/v1.0.0');
    const wish = { range: '~1', prefixes: ['refs/tags/v1.0.0'], event: 'push' };
    assert.equal(commitOf(await untilAnswered('a/range', wish), 'refs/tags/v1.0.0'), undefined);
  });

  test('is sent again when a resource of the same namespace has an event', async (t) => {
    const { repository, enqueued, untilAnswered } = await arrangeRanges(t);
    await repository.tag('v1.0.1');
    enqueued.length = 0;
    await untilAnswered('a/branch', { event: 'push' });
    await until(() => enqueued, { describe: 'the range is enqueued', accept: (keys) => keys.includes('a/range') });
    assert.ok(commitOf(await untilAnswered('a/range', { range: '~1' }), 'refs/tags/v1.0.1'));
  });

  test("is not sent by a replica that only subscribes, whatever happens to the repository's resources", async (t) => {
    const { subscribe, server, untilAnswered, first, repository } = await arrange(t);
    await repository.tag('v1.0.0');
    subscribe('a/range', { range: '~1', intervalMs: 20 });
    subscribe('a/branch', { intervalMs: 20 });
    for (const event of ['push', 'request']) {
      subscribe('a/branch', { event, intervalMs: 20 });
      subscribe('a/range', { range: '~1', event, intervalMs: 20 });
    }
    await untilAnswered('b/branch', { intervalMs: undefined });
    assert.equal(server.requests.length, 2, 'those of the other namespace');
    assert.equal(commitOf(await untilAnswered('a/range', { range: '~1' }), 'refs/tags/v1.0.0'), first);
  });

  test('asks only for the tags that an event names, and adds them for all resources', slow, async (t) => {
    const { repository, enqueued, untilAnswered, lists } = await arrangeRanges(t);
    await untilAnswered('a/other', { range: '*' });
    const before = lists();
    for (let n = 1; n <= 10; n += 1) {
      await repository.tag(`v1.0.${n}`);
      enqueued.length = 0;
      const prefixes = ['refs/tags/v1.0.0', `refs/tags/v1.0.${n}`];
      const answer = await untilAnswered('a/range', { range: '~1', prefixes, event: `${n}`, isNamed: true });
      assert.ok(commitOf(answer, `refs/tags/v1.0.${n}`));
      assert.ok(commitOf(answer, 'refs/tags/v1.0.0'));
      assert.ok(enqueued.includes('a/other'));
      assert.ok(commitOf(await untilAnswered('a/other', { range: '*' }), `refs/tags/v1.0.${n}`));
    }
    await untilAnswered('a/range', { range: '~1', prefixes: ['refs/tags/v1.0.10'] });
    assert.equal(lists(), before);
  });

  test('lists all tags after a request of a resource without polling, because it may have replaced one for a newer tag', async (t) => {
    const { repository, subscribe, query, untilAnswered } = await arrangeRanges(t);
    subscribe('a/range', { range: '~1', intervalMs: undefined });
    for (const tag of ['v1.0.1', 'v1.0.2']) await repository.tag(tag);
    const wish = { range: '~1', prefixes: ['refs/tags/v1.0.1'], event: 'v1.0.1', isNamed: true, intervalMs: undefined };
    await untilAnswered('a/range', wish);
    await until(() => query('a/range', wish), {
      describe: 'the newest tag',
      accept: (result) => result.kind === 'refs' && result.refs.has('refs/tags/v1.0.2'),
      timeout: 10_000,
    });
  });

  test('lists the tags again if one of the list was deleted, and another may be the newest', async (t) => {
    const { repository, untilAnswered, query } = await arrangeRanges(t);
    await repository.tag('v1.0.1');
    await untilAnswered('a/range', { range: '~1', event: 'push' });
    await repository.deleteRef('refs/tags/v1.0.1');
    const wish = { range: '~1', prefixes: ['refs/tags/v1.0.1'], event: 'deleted', isNamed: true };
    assert.equal(commitOf(await untilAnswered('a/range', wish), 'refs/tags/v1.0.1'), undefined);
    await until(() => query('a/range', wish), {
      describe: 'the older tag',
      accept: (result) => result.kind === 'refs' && result.refs.has('refs/tags/v1.0.0'),
    });
  });

  const floods: Record<string, (n: number, url: string) => Parameters<World['query']>> = {
    'different ranges': (n) => ['a/range', { range: `~1.${n}` }],
    'different ranges of recreated resources': (n) => [`a/range-${n}`, { range: `~1.${n}` }],
    'different users in the URL': (n, url) => [`a/range-${n}`, { range: '~1', repo: url.replace('//', `//user${n}@`) }],
  };
  for (const [what, wishOf] of Object.entries(floods))
    test(`has a budget for all causes, such as ${what}, and names the time of the next list`, async (t) => {
      const { repository, query, repositories, lists } = await arrangeRanges(t);
      const waits: number[] = [];
      for (let n = 0; n < 10; n += 1) {
        const [key, wish] = wishOf(n, repository.url);
        const answer = await until(() => query(key, wish), {
          describe: `the result or the time for ${n}`,
          accept: (result) => result.kind !== 'querying' || result.retryAfterMs !== undefined,
          interval: 2,
        });
        if (answer.kind === 'querying') waits.push(answer.retryAfterMs ?? 0);
        if (what.includes('recreated')) repositories.unsubscribe(key);
      }
      assert.ok(lists() >= 2 && lists() <= 6, `${lists()} lists`);
      assert.ok(waits.length > 0 && waits.every((waitMs) => waitMs > 0 && waitMs <= 60_000), waits.join());
      const other = await until(() => query('b/range', { range: '~1' }), {
        describe: 'another namespace',
        accept: ({ kind }) => kind !== 'querying',
      });
      assert.equal(other.kind, 'refs');
    });

  test('is of no use for another range, or for another followed tag, while the git server is unavailable', async (t) => {
    const { server, repository, subscribe, untilAnswered } = await arrange(t);
    for (const tag of ['v1.2.9', 'v1.3.9', 'v1.4.2']) await repository.tag(tag);
    subscribe('a/old', { range: '~1.2' });
    await untilAnswered('a/plant', { range: '~1.4' });
    server.fault = { status: 503 };
    const lastGoodOf = async (wish: { range: string; prefixes?: string[] }) => {
      const answer = await untilAnswered('a/plant', { event: JSON.stringify(wish), ...wish });
      assert.equal(answer.kind, 'error');
      return answer.kind === 'error' ? answer.lastGood?.refs : undefined;
    };
    assert.ok((await lastGoodOf({ range: '~1.4' }))?.has('refs/tags/v1.4.2'));
    assert.equal(await lastGoodOf({ range: '<1.4' }), undefined);
    assert.equal(await lastGoodOf({ range: '~1.4', prefixes: ['refs/tags/1.4.2'] }), undefined);
    assert.ok(await lastGoodOf({ range: '~1.4', prefixes: ['refs/tags/v1.4.2'] }));
  });

  test('fails only for the ranges that are too large for its tags', slow, async (t) => {
    const { server, repository, first, subscribe, untilAnswered } = await arrange(t);
    const names = Array.from({ length: 25_000 }, (_, n) => `v1.0.${n}`);
    const lines = names.sort().map((name) => `${first} refs/tags/${name}\n`);
    await writeFile(
      `${repository.path}/packed-refs`,
      `# pack-refs with: peeled fully-peeled sorted \n${lines.join('')}`,
    );
    const heavy = Array.from({ length: 42 }, () => '9').join('||');
    subscribe('a/heavy', { range: heavy });
    const answer = await untilAnswered('a/range', { range: '~1' });
    assert.equal(commitOf(answer, 'refs/tags/v1.0.24999'), first);
    const failed = async (event?: string) => {
      const result = await untilAnswered('a/heavy', { range: heavy, ...(event && { event }) });
      return result.kind === 'error' ? [result.error.reason, result.lastGood] : [];
    };
    assert.deepEqual(await failed(), ['GitAnswerTooLarge', undefined]);
    server.fault = { status: 503 };
    assert.equal((await failed('push'))[1], undefined);
  });
});
