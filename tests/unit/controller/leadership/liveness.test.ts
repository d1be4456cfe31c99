import assert from 'node:assert/strict';
import { once } from 'node:events';
import { suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { checkLiveness } from '../../../../controller/leadership/liveness.ts';
import { KeyedQueue } from '../../../../controller/reconcile/queue/queue.ts';
import { ApiError } from '../../../../shared/io/kubernetes/api-error.ts';
import type { ApiRequest } from '../../../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../../../shared/io/kubernetes/reflector.ts';
import { clientWith } from '../../../support/client-with.ts';
import { slow } from '../../../support/depth.ts';

const log = pino({ level: 'silent' });

/** Whether a program with one watch on such an API server is alive after twice the limit, in one of several checks. */
async function isAliveWith(t: TestContext, stream: (request: ApiRequest) => Promise<never>): Promise<boolean> {
  const stopping = new AbortController();
  const reflector = new Reflector({
    client: clientWith({ stream }),
    path: '/api/v1/pods',
    project: () => '',
    onChange: () => {},
    retryAfterMs: () => 10,
    log,
  });
  void reflector.run(stopping.signal);
  t.after(() => stopping.abort());
  await sleep(1_000);
  const isAlive = () => checkLiveness([{ name: 'watches', stuckForMs: () => reflector.stuckForMs, limitMs: 500 }], log);
  // On a busy machine, the watch may be late by the whole limit, and continue after that.
  for (let look = 0; look < 10 && !isAlive(); look += 1) await sleep(20);
  return isAlive();
}

/** The timer of the watch ends with it. */
async function untilAborted({ signal }: ApiRequest): Promise<never> {
  if (signal) await once(signal, 'abort');
  throw new Error('aborted');
}

suite("the controller's liveness", () => {
  test('holds while each of its loops is within its own limit', () => {
    const stuckFor = { watches: 0, lease: 0 };
    const { watches, lease } = {
      watches: { name: 'watches', stuckForMs: () => stuckFor.watches, limitMs: 1_000 },
      lease: { name: 'lease', stuckForMs: () => stuckFor.lease, limitMs: 10 },
    };
    const isAlive = () => checkLiveness([watches, lease], log);
    assert.equal(isAlive(), true);
    stuckFor.watches = 1_000;
    assert.equal(isAlive(), true);
    stuckFor.lease = 11;
    assert.equal(isAlive(), false);
    stuckFor.lease = 0;
    assert.equal(isAlive(), true, 'it went on after all');
  });

  test('names the loop that stopped', () => {
    const lines: string[] = [];
    const loud = pino({ level: 'error' }, { write: (line) => void lines.push(line) });
    const stopped = { name: 'queue', stuckForMs: () => 300_001, limitMs: 300_000 };
    const fine = { name: 'polling', stuckForMs: () => 299_999, limitMs: 300_000 };
    assert.equal(checkLiveness([stopped, fine], loud), false);
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { loop: string }).loop),
      ['queue'],
    );
  });

  test('ends once a worker hangs, even if the other workers continue', async () => {
    let clock = 0;
    const hanging = Promise.withResolvers<undefined>();
    const queue = new KeyedQueue({
      concurrency: 2,
      backoffMs: () => 0,
      now: () => clock,
      log,
    });
    const isAlive = () => checkLiveness([{ name: 'queue', stuckForMs: () => queue.stuckForMs, limitMs: 60_000 }], log);
    queue.start((key) => (key === 'hangs' ? hanging.promise : Promise.resolve(undefined)));
    queue.add('hangs');
    clock = 59_000;
    queue.add('other');
    assert.equal(isAlive(), true);
    clock = 61_000;
    assert.equal(isAlive(), false);
    hanging.resolve(undefined);
    await queue.stop();
    assert.equal(isAlive(), true);
  });

  test('holds while the API server is unavailable, or refuses one of its watches', slow, async (t) => {
    assert.equal(await isAliveWith(t, () => Promise.reject(new Error('ECONNREFUSED'))), true);
    assert.equal(await isAliveWith(t, () => Promise.reject(new ApiError(403, '{}'))), true);
  });

  test('ends once a watch neither receives data nor retries', slow, async (t) => {
    assert.equal(await isAliveWith(t, untilAborted), false);
  });
});
