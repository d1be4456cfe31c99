import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import { until } from '../../../support/until.ts';
import { arrange, commitOf } from './repositories-world.ts';

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
    const refs = answer.kind === 'refs' ? [...answer.refs] : [];
    assert.deepEqual(refs.sort(), [
      ['refs/tags/', '4'],
      ['refs/tags/v1.0.1', first],
      ['refs/tags/v2.0.0', first],
    ]);
  });

  test('has the commit of a tag that is followed, without another query', async (t) => {
    const { first, untilAnswered, queries } = await arrangeRanges(t);
    const before = queries();
    const answer = await untilAnswered('a/range', { range: '~1', prefixes: ['refs/tags/v1.0.0'] });
    assert.equal(commitOf(answer, 'refs/tags/v1.0.0'), first);
    assert.equal(queries(), before);
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

  test('is not sent for an event in another namespace', async (t) => {
    const { untilAnswered, queries } = await arrangeRanges(t);
    const before = queries();
    await untilAnswered('b/branch', { event: 'push' });
    assert.equal(queries(), before + 1, 'the one for the branch');
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
      return answer.kind === 'error' ? answer.lastGood : undefined;
    };
    assert.ok((await lastGoodOf({ range: '~1.4' }))?.has('refs/tags/v1.4.2'));
    assert.equal(await lastGoodOf({ range: '<1.4' }), undefined);
    assert.equal(await lastGoodOf({ range: '~1.4', prefixes: ['refs/tags/1.4.2'] }), undefined);
    assert.ok(await lastGoodOf({ range: '~1.4', prefixes: ['refs/tags/v1.4.2'] }));
  });

  test('fails only for the ranges that are too large for its tags', async (t) => {
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
      return result.kind === 'error' ? [result.error.reason, result.error.message, result.lastGood] : [];
    };
    const [reason, message, lastGood] = await failed();
    assert.deepEqual([reason, lastGood], ['GitAnswerTooLarge', undefined]);
    assert.match(`${message}`, /takes too long to compare with the 25000 tags/);
    server.fault = { status: 503 };
    assert.deepEqual((await failed('push')).slice(2), [undefined]);
  });
});
