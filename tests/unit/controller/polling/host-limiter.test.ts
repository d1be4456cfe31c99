import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { HostLimiter } from '../../../../controller/polling/host-limiter.ts';
import { until } from '../../../support/until.ts';

/** Queries that end when they are told to, in the order in which they began. */
function makeQueries() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const query = (name: string) => () =>
    new Promise<void>((resolve) => {
      begun.push(name);
      ends.set(name, resolve);
    });
  return { begun, query, end: (name: string) => ends.get(name)?.() };
}

suite('the limits of a host', () => {
  test('let so many queries run at a time, and no host stands in the way of another', async () => {
    const limiter = new HostLimiter({ concurrency: 2, perSecond: 1_000 });
    const { begun, query, end } = makeQueries();
    for (const name of ['a', 'b', 'c']) limiter.add('one', query(name), false);
    limiter.add('two', query('other'), false);
    assert.deepEqual(begun, ['a', 'b', 'other']);
    end('a');
    await until(() => begun.includes('c'), { describe: 'the third' });
  });

  test('let urgent queries go first, and one that waits become urgent', async () => {
    const limiter = new HostLimiter({ concurrency: 1, perSecond: 1_000 });
    const { begun, query, end } = makeQueries();
    const waiting = query('waiting');
    limiter.add('one', query('running'), false);
    limiter.add('one', query('poll'), false);
    limiter.add('one', waiting, false);
    limiter.add('one', query('urgent'), true);
    limiter.add('one', waiting, true);
    limiter.add('one', waiting, false);
    for (const name of ['running', 'urgent', 'waiting', 'poll']) {
      await until(() => begun.includes(name), { describe: name });
      end(name);
    }
    assert.deepEqual(begun, ['running', 'urgent', 'waiting', 'poll'], 'each once');
  });

  test('let no more than a second’s worth begin at once, and the rest at their rate', async () => {
    const limiter = new HostLimiter({ concurrency: 1_000, perSecond: 20 });
    const begunAt: number[] = [];
    const started = performance.now();
    for (let index = 0; index < 30; index += 1)
      limiter.add('one', async () => void begunAt.push(performance.now() - started), false);
    assert.equal(begunAt.length, 20);
    assert.ok(limiter.stuckForMs < 1_000);
    await until(() => begunAt.length === 30, { describe: 'the rest' });
    assert.ok((begunAt[29] ?? 0) > 400, `ten more at 20 a second took ${begunAt[29]} ms`);
  });
});
