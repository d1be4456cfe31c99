import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import type { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { holdScans } from '../../../../agent/gateway/presets/ignition-scan-locks.ts';
import { TransientError, WaitingError } from '../../../../shared/errors.ts';

const log = pino({ level: 'silent' });
const held = new TransientError('409', { code: 'gateway.refused', reason: 'GatewayRefused' });

/** A client whose requests fail while there is an error; counts the requested locks. */
function clientOf() {
  const state = { requests: 0, error: undefined as Error | undefined };
  const send = async () => {
    state.requests += 1;
    if (state.error) throw state.error;
    return { status: 200, body: '{}' };
  };
  return { state, client: { send } as unknown as GatewayClient };
}

suite('the locks of the scans', () => {
  test('are requested again until they are released, and sooner if they are refused', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { state, client } = clientOf();
    const after = async (ms: number) => {
      t.mock.timers.tick(ms);
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
      return state.requests;
    };
    const hold = await holdScans({ client, log });
    assert.equal(state.requests, 2);
    // The time that a request takes is real.
    assert.equal(await after(50_000), 2);
    assert.equal(await after(5_000), 4);
    state.error = held;
    assert.equal(await after(55_000), 6);
    assert.equal(await after(1_000), 8);
    state.error = undefined;
    assert.equal(await after(1_000), 10);
    assert.equal(await after(50_000), 10);
    hold[Symbol.dispose]();
    assert.equal(await after(300_000), 10);
  });

  test('are requested until they are granted, with a note if the gateway runs and refuses them', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { state, client } = clientOf();
    const down = new WaitingError('down', { code: 'gateway.down', reason: 'GatewayAway', retryAfterMs: 1 });
    for (const [error, hasNote] of [
      [held, true],
      [down, false],
    ] as const) {
      state.error = error;
      const hold = await holdScans({ client, log });
      assert.equal(hold.note !== undefined, hasNote);
      state.error = undefined;
      const { requests } = state;
      t.mock.timers.tick(1_000);
      await setImmediate();
      assert.equal(state.requests, requests + 2);
      hold[Symbol.dispose]();
    }
  });

  test('are prolonged independently, even if one was granted late or is refused for a while', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    let now = 0;
    t.mock.method(performance, 'now', () => now);
    const ends: Record<string, number> = {};
    const gaps: string[] = [];
    let requests = 0;
    // As documented: 409 while anyone holds the lock. The lock of projects isn't granted before 10 s have passed.
    const send = async ({ path }: { path: string }) => {
      requests += 1;
      if (path.endsWith('projects') && now === 0) await new Promise<void>((grant) => setTimeout(grant, 10_000));
      if ((ends[path] ?? 0) > now) throw held;
      if (now - (ends[path] ?? now) > 1_000) gaps.push(path);
      ends[path] = now + 60_000;
      return { status: 200, body: '{}' };
    };
    const holding = holdScans({ client: { send } as unknown as GatewayClient, log });
    for (let second = 0; second < 600; second += 1) {
      now += 1_000;
      t.mock.timers.tick(1_000);
      for (let turn = 0; turn < 5; turn += 1) await setImmediate();
    }
    (await holding)[Symbol.dispose]();
    assert.deepEqual(gaps, []);
    assert.ok(requests < 200, `${requests} requests in ten minutes`);
  });

  test('end a sync that is aborted while it waits for them', async () => {
    const reason = new Error('superseded');
    const ending = new AbortController();
    const { state, client } = clientOf();
    state.error = reason;
    ending.abort(reason);
    await assert.rejects(holdScans({ client, log, signal: ending.signal }), reason);
  });
});
