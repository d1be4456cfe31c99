import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { KeyedQueue, type Outcome, type QueueOptions } from '../../../controller/queue.ts';
import { until } from '../../support/until.ts';

const log = pino({ level: 'silent' });

function makeQueue(handle: (key: string) => Promise<Outcome>, options: Partial<QueueOptions> = {}): KeyedQueue {
  return new KeyedQueue({ handle, concurrency: 2, backoffMs: () => 5, log, ...options });
}

suite('a keyed queue', () => {
  test('handles a key once, however often it was added while it waited', async () => {
    const handled: string[] = [];
    const queue = makeQueue(async (key) => void handled.push(key));
    for (let index = 0; index < 100; index += 1) queue.add('a');
    assert.equal(queue.depth, 1);
    queue.start();
    await queue.stop();
    assert.deepEqual(handled, ['a']);
  });

  test('never runs two handlers for one key, and handles it again when it came back meanwhile', async () => {
    let [running, most, count] = [0, 0, 0];
    const first = Promise.withResolvers<void>();
    const queue = makeQueue(async () => {
      running += 1;
      count += 1;
      most = Math.max(most, running);
      if (count === 1) await first.promise;
      running -= 1;
      return undefined;
    });
    queue.start();
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
    for (const key of ['poll-1', 'poll-2']) queue.add(key, 'low');
    queue.add('request', 'high');
    queue.add('poll-2', 'high');
    queue.start();
    await until(() => handled.length === 3, { describe: 'three runs' });
    assert.deepEqual(handled, ['request', 'poll-2', 'poll-1']);
    await queue.stop();
  });

  test('tries again after an error, with the back-off of its failures in a row', async () => {
    const asked: number[] = [];
    let runs = 0;
    const queue = makeQueue(
      async () => {
        runs += 1;
        if (runs <= 3) throw new Error('not yet');
        return undefined;
      },
      { backoffMs: (failures) => asked.push(failures) },
    );
    queue.start();
    queue.add('a');
    await until(() => runs === 4, { describe: 'four runs' });
    await queue.stop();
    assert.deepEqual(asked, [1, 2, 3]);
  });

  test('does not let a back-off stand in the way of a request', async () => {
    let runs = 0;
    const queue = makeQueue(
      async () => {
        runs += 1;
        if (runs === 1) throw new Error('not yet');
        return undefined;
      },
      { backoffMs: () => 3_600_000 },
    );
    queue.start();
    queue.add('a');
    await until(() => runs === 1, { describe: 'the first run' });
    queue.add('a');
    await until(() => runs === 2, { describe: 'the second run' });
    await queue.stop();
  });

  test('keeps the earliest of several appointments', async () => {
    let runs = 0;
    const queue = makeQueue(async () => {
      runs += 1;
      return undefined;
    });
    queue.start();
    queue.addAfter('a', 3_600_000);
    queue.addAfter('a', 5);
    queue.addAfter('a', 3_600_000);
    await until(() => runs === 1, { describe: 'the run' });
    await queue.stop();
  });

  test('waits at its end for what runs, and begins nothing more', async () => {
    const handled: string[] = [];
    const queue = makeQueue(async (key) => {
      await sleep(20);
      handled.push(key);
      return undefined;
    });
    queue.start();
    for (const key of ['a', 'b', 'c']) queue.add(key);
    await queue.stop();
    assert.deepEqual(handled.sort(), ['a', 'b']);
  });
});
