import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { type Handle, KeyedQueue, type QueueOptions } from '../../../../../controller/reconcile/queue/queue.ts';
import { until } from '../../../../support/until.ts';

const log = pino({ level: 'silent' });

/** Keys of both priorities with which a queue starts. */
interface First {
  high?: string[];
  low?: string[];
}

/** A queue with one worker and this handler, and the keys that it has begun to handle. */
function makeQueue(handle: Handle = async () => undefined, options: Partial<QueueOptions> = {}) {
  const handled: string[] = [];
  class StartedQueue extends KeyedQueue {
    begin({ high = [], low = [] }: First = {}): void {
      const first = [
        ...low.map((key) => ({ key, priority: 'low' as const })),
        ...high.map((key) => ({ key, priority: 'high' as const })),
      ];
      const record: Handle = (key, attempt) => {
        handled.push(key);
        return handle(key, attempt);
      };
      super.start(record, first);
    }

    /** Waits for this number of runs, and stops. */
    async stopAfter(runs: number): Promise<string[]> {
      await until(() => handled.length >= runs, { describe: `${runs} runs` });
      await super.stop();
      return handled;
    }
  }
  return { handled, queue: new StartedQueue({ concurrency: 1, backoffMs: () => 5, log, ...options }) };
}

/** A handler that doesn't finish a key that begins with `held` until it is released. */
function holding() {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  return { handle: (key: string) => (key.startsWith('held') ? promise : Promise.resolve(undefined)), release: resolve };
}

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name}-${index}`);

suite('the work queue', () => {
  test('handles a key once, however often it was added while it waited', async () => {
    const { handle, release } = holding();
    const { queue } = makeQueue(handle);
    queue.begin({ high: ['held'] });
    for (let index = 0; index < 100; index += 1) queue.add('a');
    assert.equal(queue.depth, 1);
    release(undefined);
    assert.deepEqual(await queue.stopAfter(2), ['held', 'a']);
  });

  test('never runs two handlers for one key, and requeues it if it was added in between', async () => {
    let running = 0;
    let most = 0;
    const { promise, resolve } = Promise.withResolvers<void>();
    const { handled, queue } = makeQueue(
      async () => {
        running += 1;
        most = Math.max(most, running);
        if (handled.length === 1) await promise;
        running -= 1;
        return undefined;
      },
      { concurrency: 2 },
    );
    queue.begin();
    for (let index = 0; index < 10; index += 1) queue.add('a');
    resolve();
    assert.deepEqual([await queue.stopAfter(2), most], [['a', 'a'], 1]);
  });

  test('takes requests before polls', async () => {
    const { queue } = makeQueue();
    queue.begin({ low: ['poll-1', 'poll-2'], high: ['request', 'poll-2'] });
    assert.deepEqual(await queue.stopAfter(3), ['request', 'poll-2', 'poll-1']);
  });

  for (const how of ['defers its work', 'fails'])
    test(`keeps the priority of a key whose handler ${how}`, async () => {
      const { handled, queue } = makeQueue(async (key) => {
        await sleep(1);
        if (key !== 'request' || handled.length > 1) return undefined;
        if (how === 'fails') throw new Error('not yet');
        return { afterMs: 5, isDeferred: true };
      });
      queue.begin({ high: ['request'], low: numbered('poll', 200) });
      await until(() => handled.lastIndexOf('request') > 0, { describe: 'the second run' });
      await queue.stop();
      assert.ok(handled.lastIndexOf('request') < 100, `${handled.lastIndexOf('request')} polls before it`);
    });

  test('handles a poll that becomes urgent before other polls, even if it was added as one again', async () => {
    const { handled, queue } = makeQueue(async (key) => {
      if (key !== 'urgent' || handled.length > 1) return undefined;
      queue.add('urgent', 'low');
      return { afterMs: 0, isDeferred: true, isUrgent: true };
    });
    queue.begin({ low: ['urgent', ...numbered('poll', 5)] });
    assert.deepEqual((await queue.stopAfter(2)).slice(0, 2), ['urgent', 'urgent']);
  });

  test('retries with the backoff of all failures since a success, even if its work is deferred in between', async () => {
    const asked: number[] = [];
    const attempts: number[] = [];
    const { queue } = makeQueue(
      async (_, attempt) => {
        const run = attempts.push(attempt);
        if (run < 5 && run !== 3) throw new Error('not yet');
        return run === 3 ? { afterMs: 1, isDeferred: true } : undefined;
      },
      { backoffMs: (failures) => asked.push(failures) },
    );
    queue.begin({ high: ['a'] });
    await queue.stopAfter(5);
    assert.deepEqual(asked, [1, 2, 3]);
    assert.deepEqual(attempts, [1, 2, 3, 3, 4]);
  });

  test("doesn't delay a request by a backoff", async () => {
    const fail = () => Promise.reject(new Error('not yet'));
    const { handled, queue } = makeQueue(fail, { backoffMs: () => 3_600_000 });
    queue.begin({ high: ['a'] });
    await until(() => handled.length === 1, { describe: 'the first run' });
    queue.add('a');
    await queue.stopAfter(2);
  });

  test('keeps the earliest of several due times', async () => {
    const { queue } = makeQueue();
    queue.begin();
    for (const afterMs of [3_600_000, 5, 3_600_000]) queue.addAfter('a', afterMs);
    await queue.stopAfter(1);
  });

  test('lets no permanently returning key starve 5,000 others', async () => {
    const { handled, queue } = makeQueue(async (key) => {
      if (key === 'hot') queue.add('hot');
      await setImmediate();
      return undefined;
    });
    queue.begin({ high: ['hot', ...numbered('key', 5_000)] });
    await until(() => handled.includes('key-4999'), { describe: 'the last key' });
    await queue.stop();
    const others = handled.slice(0, handled.indexOf('key-4999') + 1).filter((key) => key !== 'hot');
    assert.deepEqual(others, numbered('key', 5_000));
    assert.ok(handled.filter((key) => key === 'hot').length > 1);
  });

  test('handles a request next if it arrives in a flood of polls', async () => {
    const { queue } = makeQueue(async (key) => {
      if (key === 'poll-100') queue.add('request', 'high');
      return undefined;
    });
    queue.begin({ low: numbered('poll', 5_000) });
    const handled = await queue.stopAfter(5_001);
    assert.equal(handled.indexOf('request'), handled.indexOf('poll-100') + 1);
  });

  test('gives polls their turn in a flood of requests', async () => {
    const { queue } = makeQueue();
    queue.begin({ high: numbered('request', 5_000), low: numbered('poll', 10) });
    const handled = await queue.stopAfter(5_010);
    assert.ok(handled.indexOf('poll-9') < 100, `the last poll came as number ${handled.indexOf('poll-9')}`);
  });

  for (const priority of ['high', 'low'] as const) {
    test(`lets namespaces take turns, however many keys of ${priority} priority one of them has`, async () => {
      const { queue } = makeQueue();
      queue.begin({ [priority]: [...numbered('busy/key', 1_000), 'calm/a', 'calm/b', 'quiet/a'] });
      const handled = await queue.stopAfter(1_003);
      const first = ['busy/key-0', 'calm/a', 'quiet/a', 'busy/key-1', 'calm/b', 'busy/key-2'];
      assert.deepEqual(handled.slice(0, 6), first);
    });

    test(`leaves half of the workers to others of ${priority} priority, if one namespace blocks its own`, async () => {
      const { handle, release } = holding();
      const { handled, queue } = makeQueue(handle, { concurrency: 8 });
      queue.begin({ high: numbered('held/key', 60) });
      for (let index = 0; index < 20; index += 1) queue.add(`other/${index}`, priority);
      await until(() => handled.includes('other/19'), { describe: 'all others' });
      assert.equal(handled.filter((key) => key.startsWith('held/')).length, 4);
      assert.equal(queue.depth, 56);
      release(undefined);
      await queue.stopAfter(80);
    });
  }

  test("isn't stuck while a namespace uses its whole share", async () => {
    let clock = 0;
    const ends: (() => void)[] = [];
    const handle = () => new Promise<undefined>((resolve) => ends.push(() => resolve(undefined)));
    const { queue } = makeQueue(handle, { concurrency: 2, now: () => clock });
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
    const { handle, release } = holding();
    const { queue } = makeQueue(handle, { now: () => clock, onTaken: (seconds) => waited.push(seconds) });
    queue.begin({ high: ['held'] });
    queue.add('a', 'low');
    clock = 2_000;
    queue.add('a', 'high');
    queue.add('b', 'low');
    clock = 3_000;
    release(undefined);
    await queue.stopAfter(3);
    assert.deepEqual(waited, [0, 3, 1]);
  });

  test('ignores keys before it starts, as on a spare, which would count their whole wait', async () => {
    let clock = 0;
    const waited: number[] = [];
    const { queue } = makeQueue(undefined, { now: () => clock, onTaken: (seconds) => waited.push(seconds) });
    queue.add('report', 'high');
    queue.addAfter('repair', 1);
    clock = 10_800_000;
    assert.equal(queue.depth, 0);
    queue.begin({ low: ['report', 'settled'], high: ['request'] });
    assert.deepEqual(await queue.stopAfter(3), ['request', 'report', 'settled']);
    assert.deepEqual(waited, [0, 0, 0]);
  });

  test('is stuck for as long as its oldest handler runs, and not while it is idle', async () => {
    let clock = 0;
    const { handle, release } = holding();
    const { queue } = makeQueue(handle, { concurrency: 2, now: () => clock });
    clock = 50_000;
    assert.equal(queue.stuckForMs, 0, 'not started yet: a spare');
    queue.begin({ high: ['held'] });
    clock = 60_000;
    queue.add('quick');
    await until(() => queue.depth === 0, { describe: 'the quick one' });
    clock = 70_000;
    assert.equal(queue.stuckForMs, 20_000);
    release(undefined);
    await queue.stop();
    assert.equal(queue.stuckForMs, 0);
  });

  test('drops deleted keys that wait', async () => {
    const { handle, release } = holding();
    const { queue } = makeQueue(handle);
    queue.begin({ high: ['held', 'gone/high', 'stays/a'], low: ['gone/low'] });
    for (const key of ['gone/high', 'gone/low']) queue.forget(key);
    assert.equal(queue.depth, 1);
    release(undefined);
    assert.deepEqual(await queue.stopAfter(2), ['held', 'stays/a']);
  });

  test('handles a key again that is dropped while its handler runs, to remove new state', async () => {
    const kept: string[] = [];
    const begun = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    const { queue } = makeQueue(async (key) => {
      if (kept.length > 0) return void kept.pop();
      begun.resolve();
      await gone.promise;
      kept.push(key);
      return undefined;
    });
    queue.begin({ high: ['gone/a'] });
    await begun.promise;
    queue.forget('gone/a');
    gone.resolve();
    await queue.stopAfter(2);
    assert.deepEqual(kept, []);
  });

  test('waits for running handlers when it closes, and starts no others', async () => {
    const finished: string[] = [];
    const handle = (key: string) => sleep(20).then(() => void finished.push(key));
    const { queue } = makeQueue(handle, { concurrency: 2 });
    queue.begin({ high: ['a', 'b', 'c'] });
    await queue.stop();
    assert.deepEqual(finished.sort(), ['a', 'b']);
  });

  test("doesn't handle a key at once that is due in more milliseconds than a timer can wait", async () => {
    const { handled, queue } = makeQueue(async (key) => ({ afterMs: Number(key) }));
    const delays = [`${2 ** 31}`, 'Infinity', 'NaN'];
    queue.begin({ high: delays });
    await sleep(50);
    await queue.stop();
    assert.deepEqual(handled, delays);
  });
});
