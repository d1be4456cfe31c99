import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { type Handle, KeyedQueue, type QueueOptions } from '../../../../controller/reconcile/queue.ts';
import { until } from '../../../support/until.ts';

const log = pino({ level: 'silent' });

/** A queue that starts with this handler, and with keys of both priorities. */
function makeQueue(handle: Handle, options: Partial<QueueOptions> = {}) {
  class StartedQueue extends KeyedQueue {
    begin({ high = [], low = [] }: { high?: string[]; low?: string[] } = {}): void {
      const first = [
        ...low.map((key) => ({ key, priority: 'low' as const })),
        ...high.map((key) => ({ key, priority: 'high' as const })),
      ];
      super.start(handle, first);
    }
  }
  return new StartedQueue({ concurrency: 2, backoffMs: () => 5, log, ...options });
}

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}-${index}`);

suite('the work queue', () => {
  test('handles a key once, however often it was added while it waited', async () => {
    const handled: string[] = [];
    const held = Promise.withResolvers<undefined>();
    const queue = makeQueue((key) => (handled.push(key) === 1 ? held.promise : Promise.resolve(undefined)), {
      concurrency: 1,
    });
    queue.begin({ high: ['held'] });
    for (let index = 0; index < 100; index += 1) queue.add('a');
    assert.equal(queue.depth, 1);
    held.resolve(undefined);
    await until(() => handled.length > 1, { describe: 'the second key' });
    await queue.stop();
    assert.deepEqual(handled, ['held', 'a']);
  });

  test('never runs two handlers for one key, and requeues it if it was added in between', async () => {
    let running = 0;
    let most = 0;
    let count = 0;
    const first = Promise.withResolvers<void>();
    const queue = makeQueue(async () => {
      running += 1;
      count += 1;
      most = Math.max(most, running);
      if (count === 1) await first.promise;
      running -= 1;
      return undefined;
    });
    queue.begin();
    queue.add('a');
    for (let index = 0; index < 10; index += 1) queue.add('a');
    first.resolve();
    await until(() => count === 2, { describe: 'two runs' });
    await queue.stop();
    assert.deepEqual([most, count], [1, 2]);
  });

  test('takes requests before polls', async () => {
    const handled: string[] = [];
    const queue = makeQueue(async (key) => void handled.push(key), { concurrency: 1 });
    queue.begin({ low: ['poll-1', 'poll-2'], high: ['request', 'poll-2'] });
    await until(() => handled.length === 3, { describe: 'three runs' });
    assert.deepEqual(handled, ['request', 'poll-2', 'poll-1']);
    await queue.stop();
  });

  test('keeps the priority of deferred keys', async () => {
    const handled: string[] = [];
    const queue = makeQueue(
      async (key) => {
        handled.push(key);
        await sleep(1);
        return key === 'request' && handled.length === 1 ? { afterMs: 5, isDeferred: true } : undefined;
      },
      { concurrency: 1 },
    );
    queue.begin({ high: ['request'], low: numbered('poll', 200) });
    await until(() => handled.lastIndexOf('request') > 0, { describe: 'the second run' });
    await queue.stop();
    assert.ok(handled.lastIndexOf('request') < 100, `${handled.lastIndexOf('request')} polls before it`);
  });

  test('retries after an error, with the backoff of the failures in a row', async () => {
    const asked: number[] = [];
    const attempts: number[] = [];
    let runs = 0;
    const queue = makeQueue(
      async (_, attempt) => {
        runs += 1;
        attempts.push(attempt);
        if (runs <= 3) throw new Error('not yet');
        return undefined;
      },
      { backoffMs: (failures) => asked.push(failures) },
    );
    queue.begin();
    queue.add('a');
    await until(() => runs === 4, { describe: 'four runs' });
    await queue.stop();
    assert.deepEqual(asked, [1, 2, 3]);
    assert.deepEqual(attempts, [1, 2, 3, 4]);
  });

  test('keeps counting failures if a handler defers its work in between', async () => {
    const asked: number[] = [];
    let runs = 0;
    const queue = makeQueue(
      async () => {
        runs += 1;
        if (runs % 2 === 0) return { afterMs: 1, isDeferred: true };
        throw new Error('not yet');
      },
      { backoffMs: (failures) => asked.push(failures) },
    );
    queue.begin();
    queue.add('a');
    await until(() => asked.length >= 3, { describe: 'three failures' });
    await queue.stop();
    assert.deepEqual(asked.slice(0, 3), [1, 2, 3]);
  });

  test("doesn't delay a request by a backoff", async () => {
    let runs = 0;
    const queue = makeQueue(
      async () => {
        runs += 1;
        if (runs === 1) throw new Error('not yet');
        return undefined;
      },
      { backoffMs: () => 3_600_000 },
    );
    queue.begin();
    queue.add('a');
    await until(() => runs === 1, { describe: 'the first run' });
    queue.add('a');
    await until(() => runs === 2, { describe: 'the second run' });
    await queue.stop();
  });

  test('keeps the earliest of several due times', async () => {
    let runs = 0;
    const queue = makeQueue(async () => {
      runs += 1;
      return undefined;
    });
    queue.begin();
    queue.addAfter('a', 3_600_000);
    queue.addAfter('a', 5);
    queue.addAfter('a', 3_600_000);
    await until(() => runs === 1, { describe: 'the run' });
    await queue.stop();
  });

  test('lets no permanently returning key starve 5,000 others', async () => {
    const handled: string[] = [];
    let running = 0;
    const queue = makeQueue(
      async (key) => {
        running += 1;
        assert.equal(running, 1);
        handled.push(key);
        if (key === 'hot') queue.add('hot');
        await setImmediate();
        running -= 1;
        return undefined;
      },
      { concurrency: 1 },
    );
    queue.begin({ high: ['hot', ...numbered('key', 5_000)] });
    await until(() => handled.includes('key-4999'), { describe: 'the last key' });
    await queue.stop();
    const others = handled.slice(0, handled.indexOf('key-4999') + 1).filter((key) => key !== 'hot');
    assert.deepEqual(others, numbered('key', 5_000));
    assert.ok(handled.filter((key) => key === 'hot').length > 1);
  });

  test('handles a request next if it arrives in a flood of polls', async () => {
    const handled: string[] = [];
    const queue = makeQueue(
      async (key) => {
        handled.push(key);
        if (key === 'poll-100') queue.add('request', 'high');
        return undefined;
      },
      { concurrency: 1 },
    );
    queue.begin({ low: numbered('poll', 5_000) });
    await until(() => handled.length === 5_001, { describe: 'all runs' });
    await queue.stop();
    assert.equal(handled.indexOf('request'), handled.indexOf('poll-100') + 1);
  });

  test('gives polls their turn in a flood of requests', async () => {
    const handled: string[] = [];
    const queue = makeQueue(async (key) => void handled.push(key), { concurrency: 1 });
    queue.begin({ high: numbered('request', 5_000), low: numbered('poll', 10) });
    await until(() => handled.length === 5_010, { describe: 'all runs' });
    await queue.stop();
    assert.ok(handled.indexOf('poll-9') < 100, `the last poll came as number ${handled.indexOf('poll-9')}`);
  });

  test('lets namespaces take turns, however many keys one of them has', async () => {
    for (const priority of ['high', 'low'] as const) {
      const handled: string[] = [];
      const queue = makeQueue(async (key) => void handled.push(key), { concurrency: 1 });
      queue.begin({ [priority]: [...numbered('busy/key', 1_000), 'calm/a', 'calm/b', 'quiet/a'] });
      await until(() => handled.length === 1_003, { describe: 'all runs' });
      await queue.stop();
      const first = ['busy/key-0', 'calm/a', 'quiet/a', 'busy/key-1', 'calm/b', 'busy/key-2'];
      assert.deepEqual(handled.slice(0, 6), first);
    }
  });

  test('leaves half of the workers to others, whatever blocks those of one namespace', async () => {
    for (const priority of ['high', 'low'] as const) {
      const handled: string[] = [];
      const held = Promise.withResolvers<undefined>();
      const queue = makeQueue(
        (key) => {
          handled.push(key);
          return key.startsWith('held/') ? held.promise : Promise.resolve(undefined);
        },
        { concurrency: 8 },
      );
      queue.begin({ high: numbered('held/key', 60) });
      for (let index = 0; index < 20; index += 1) queue.add(`other/${index}`, priority);
      await until(() => handled.includes('other/19'), { describe: 'all others' });
      assert.equal(handled.filter((key) => key.startsWith('held/')).length, 4);
      assert.equal(queue.depth, 56);
      held.resolve(undefined);
      await until(() => handled.length === 80, { describe: 'all runs' });
      await queue.stop();
    }
  });

  test("isn't stuck while a namespace uses its whole share", async () => {
    let clock = 0;
    const ends: (() => void)[] = [];
    const queue = makeQueue(
      async () => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return undefined;
      },
      { concurrency: 2, now: () => clock },
    );
    queue.begin({ high: ['busy/a', 'busy/b', 'busy/c'] });
    const stuck: number[] = [];
    for (let minute = 1; minute <= 3; minute += 1) {
      await setImmediate();
      clock = minute * 60_000;
      stuck.push(queue.stuckForMs);
      ends.at(-1)?.();
    }
    await setImmediate();
    assert.deepEqual([queue.depth, ...stuck], [0, 60_000, 60_000, 60_000]);
    await queue.stop();
  });

  test('reports how long a key waited for a worker, since it was first added', async () => {
    let clock = 0;
    const waited: number[] = [];
    const held = Promise.withResolvers<undefined>();
    const queue = makeQueue((key) => (key === 'held' ? held.promise : Promise.resolve(undefined)), {
      concurrency: 1,
      now: () => clock,
      onTaken: (seconds) => waited.push(seconds),
    });
    queue.begin({ high: ['held'] });
    queue.add('a', 'low');
    clock = 2_000;
    queue.add('a', 'high');
    queue.add('b', 'low');
    clock = 3_000;
    held.resolve(undefined);
    await until(() => waited.length === 3, { describe: 'all runs' });
    await queue.stop();
    assert.deepEqual(waited, [0, 3, 1]);
  });

  test('ignores keys before it starts, as on a spare, which would count their whole wait', async () => {
    let clock = 0;
    const handled: string[] = [];
    const waited: number[] = [];
    const queue = makeQueue(async (key) => void handled.push(key), {
      now: () => clock,
      onTaken: (seconds) => waited.push(seconds),
    });
    queue.add('report', 'high');
    queue.addAfter('repair', 1);
    clock = 10_800_000;
    assert.equal(queue.depth, 0);
    queue.begin({ low: ['report', 'settled'], high: ['request'] });
    await until(() => handled.length === 3, { describe: 'all runs' });
    await queue.stop();
    assert.deepEqual(
      [handled, waited],
      [
        ['request', 'report', 'settled'],
        [0, 0, 0],
      ],
    );
  });

  test('is stuck for as long as its oldest handler runs, and not while it is idle', async () => {
    let clock = 0;
    const hanging = Promise.withResolvers<undefined>();
    const queue = makeQueue((key) => (key === 'hangs' ? hanging.promise : Promise.resolve(undefined)), {
      now: () => clock,
    });
    clock = 50_000;
    assert.equal(queue.stuckForMs, 0, 'not started yet: a spare');
    queue.begin({ high: ['hangs'] });
    clock = 60_000;
    queue.add('quick');
    await until(() => queue.depth === 0, { describe: 'the quick one' });
    clock = 70_000;
    assert.equal(queue.stuckForMs, 20_000);
    hanging.resolve(undefined);
    await queue.stop();
    assert.equal(queue.stuckForMs, 0);
  });

  test('drops deleted keys that wait', async () => {
    const handled: string[] = [];
    const held = Promise.withResolvers<undefined>();
    const queue = makeQueue((key) => (handled.push(key) === 1 ? held.promise : Promise.resolve(undefined)), {
      concurrency: 1,
    });
    queue.begin({ high: ['held', 'gone/high', 'stays/a'], low: ['gone/low'] });
    for (const key of ['gone/high', 'gone/low']) queue.forget(key);
    assert.equal(queue.depth, 1);
    held.resolve(undefined);
    await until(() => handled.length === 2, { describe: 'the key that stays' });
    await queue.stop();
    assert.deepEqual(handled, ['held', 'stays/a']);
  });

  test('retries an urgent key after an error as an urgent one', async () => {
    const handled: string[] = [];
    const queue = makeQueue(
      async (key) => {
        handled.push(key);
        await sleep(1);
        if (key === 'request' && handled.length === 1) throw new Error('not yet');
        return undefined;
      },
      { concurrency: 1 },
    );
    queue.begin({ high: ['request'], low: numbered('poll', 200) });
    await until(() => handled.lastIndexOf('request') > 0, { describe: 'the second attempt' });
    await queue.stop();
    assert.ok(handled.lastIndexOf('request') < 100, `${handled.lastIndexOf('request')} polls before it`);
  });

  test('handles a key again that is dropped while its handler runs, to remove new state', async () => {
    const kept: string[] = [];
    const begun = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const queue = makeQueue(async (key) => {
      if (kept.length > 0) return void kept.pop();
      begun.resolve();
      await gone.promise;
      kept.push(key);
      return undefined;
    });
    queue.begin();
    queue.add('gone/a');
    await begun.promise;
    queue.forget('gone/a');
    gone.resolve();
    await setImmediate();
    await queue.stop();
    assert.deepEqual(kept, []);
  });

  test('waits for running handlers when it closes, and starts no others', async () => {
    const handled: string[] = [];
    const queue = makeQueue(async (key) => {
      await sleep(20);
      handled.push(key);
      return undefined;
    });
    queue.begin();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await queue.stop();
    assert.deepEqual(handled.sort(), ['a', 'b']);
  });

  for (const afterMs of [2 ** 31, 1e15, Number.POSITIVE_INFINITY, Number.NaN]) {
    test(`doesn't handle a key at once that is due in ${afterMs} ms`, async () => {
      let handled = 0;
      const queue = makeQueue(async () => {
        handled += 1;
        return { afterMs };
      });
      queue.begin();
      queue.add('a');
      await sleep(50);
      await queue.stop();
      assert.equal(handled, 1);
    });
  }
});
