import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { suite, type TestContext, test } from 'node:test';
import {
  EventLimiter,
  EventRecorder,
  eventOf,
  writeEvent,
} from '../../../../../controller/reconcile/events/event-recorder.ts';
import type { Transition } from '../../../../../controller/reconcile/events/status-transitions.ts';
import type { ObservedGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import { createLogger } from '../../../../../shared/log.ts';
import { clientOfServer } from '../../../../support/client-of-server.ts';
import { clientWith } from '../../../../support/client-with.ts';
import { slow } from '../../../../support/depth.ts';

suite('events of a flapping resource', () => {
  test('are withheld after a burst, and resume with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 100 }, () => limiter.take('a/b', 0)).filter(Boolean).length;
    assert.equal(taken, 12);
    assert.equal(limiter.take('a/b', 20_000), true);
    assert.equal(limiter.take('a/b', 20_001), false);
    assert.equal(limiter.take('a/b', 3_600_000), true);
  });

  test('withhold those of no other resource', () => {
    const limiter = new EventLimiter();
    for (let index = 0; index < 100; index += 1) limiter.take('a/b', 0);
    assert.equal(limiter.take('a/c', 0), true);
  });

  test('of thousands of resources of a namespace at once are withheld, and resume with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 5_000 }, (_, index) => limiter.take(`a/${index}`, 0)).filter(Boolean).length;
    assert.equal(taken, 60);
    assert.equal(limiter.take('a/another', 0), false);
    assert.equal(limiter.take('a/another', 5_000), true);
  });

  test('of thousands of namespaces at once are withheld, and resume with time', () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 5_000 }, (_, index) => limiter.take(`${index}/a`, 0)).filter(Boolean).length;
    assert.equal(taken, 200);
    assert.equal(limiter.take('another/a', 0), false);
    assert.equal(limiter.take('another/a', 1_000), true);
  });

  test('leave some to the next namespace, however many a few others cause', slow, () => {
    const limiter = new EventLimiter();
    for (let now = 0; now < 60_000; now += 100) {
      for (let namespace = 0; namespace < 20; namespace += 1)
        for (let index = 0; index < 100; index += 1) limiter.take(`evil-${namespace}/${index}`, now);
      if (now % 1_000 === 0) assert.equal(limiter.take(`good-${now}/a`, now), true, `after ${now} ms`);
    }
  });

  test("are dropped one by one, so a namespace can't refill its budget with many resources", () => {
    const limiter = new EventLimiter();
    const taken = Array.from({ length: 100_000 }, (_, index) => limiter.take(`a/${index % 3_000}`, 0));
    assert.equal(taken.filter(Boolean).length, 60);
  });
});

test('an event beyond the limit is not stored, so that a phase can be announced later', async () => {
  const client = clientWith({ create: async () => ({}) });
  const recorder = new EventRecorder({ client, mayWrite: () => true, onTransition: () => {}, instance: 'one' });
  const gatewaySync = { namespace: 'a', name: 'b' } as ObservedGatewaySync;
  const log = createLogger('test', { level: 'silent' });
  const write = () => recorder.write(gatewaySync, { type: 'Normal', reason: 'Synced', message: '' }, { log });
  const stored = await Promise.all(Array.from({ length: 13 }, write));
  assert.deepEqual(stored, [...Array(12).fill(true), false]);
});

suite('an event', () => {
  const gatewaySync = { namespace: 'a', name: 'b', uid: 'u', resourceVersion: '1' } as ObservedGatewaySync;
  const transition = { type: 'Normal', reason: 'Synced', message: '3/3 synced' } as const;
  const event = eventOf(gatewaySync, { transition, instance: 'one' });
  const backoff = { baseMs: 1, maxMs: 1, jitter: 0 };

  test('about the phase of a rollout is the same if another leader makes it later', () => {
    const phase = { ...transition, reason: 'RolloutStopped', since: Date.parse('2026-11-21T12:00:00.123Z') };
    const nameOf = (given: Transition) => eventOf(gatewaySync, { transition: given, instance: 'any' }).metadata.name;
    assert.equal(nameOf(phase), nameOf({ ...phase, message: 'other words' }));
    const others = [transition, { ...phase, since: phase.since + 1 }, { ...phase, reason: 'RolloutSoaking' }];
    assert.equal(new Set([phase, ...others].map(nameOf)).size, 4);
    const { lastTimestamp, eventTime } = eventOf(gatewaySync, { transition: phase, instance: 'one' });
    assert.deepEqual([lastTimestamp, eventTime], ['2026-11-21T12:00:00Z', '2026-11-21T12:00:00.123000Z']);
  });

  /** Writes the event to a server that answers with these statuses, and returns the names that it received. */
  async function write(t: TestContext, statuses: number[], mayWrite = () => true) {
    const names: string[] = [];
    const client = await clientOfServer(t, async (request, response) => {
      names.push(JSON.parse(await text(request)).metadata.name);
      response.writeHead(statuses[names.length - 1] ?? 500).end('{}');
    });
    const outcome = await writeEvent(client, event, { mayWrite, backoff }).then(
      () => 'written',
      (error: { status?: number }) => error.status,
    );
    return { outcome, names };
  }

  test('is written again, with its name, while the API server is unavailable', async (t) => {
    const { outcome, names } = await write(t, [503, 429, 500, 201]);
    assert.equal(outcome, 'written');
    assert.deepEqual(names, Array(4).fill(event.metadata.name));
  });

  test('counts as written if it exists, because the response to an earlier attempt was lost', async (t) => {
    assert.equal((await write(t, [503, 409])).outcome, 'written');
  });

  test('is given up if another replica becomes the leader before the next attempt', async (t) => {
    let isLeader = true;
    const names: string[] = [];
    const client = await clientOfServer(t, async (request, response) => {
      names.push(JSON.parse(await text(request)).metadata.name);
      response.writeHead(names.length === 1 ? 503 : 201).end('{}');
      setTimeout(() => {
        isLeader = false;
      }, 20);
    });
    const slow = { baseMs: 300, maxMs: 300, jitter: 0 };
    await assert.rejects(writeEvent(client, event, { mayWrite: () => isLeader, backoff: slow }), { status: 503 });
    assert.equal(names.length, 1);
  });

  test('is given up if the API server refuses it, or another replica leads now', async (t) => {
    assert.deepEqual((await write(t, [403])).outcome, 403);
    assert.deepEqual((await write(t, [503, 201], () => false)).outcome, 503);
    assert.deepEqual((await write(t, Array(100).fill(503))).outcome, 503);
  });
});
