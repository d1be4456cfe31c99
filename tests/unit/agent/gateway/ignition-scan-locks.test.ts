import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
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
  test('are requested once, with a note if the gateway runs and refuses them', async () => {
    const { state, client } = clientOf();
    const down = new WaitingError('down', { code: 'gateway.down', reason: 'GatewayAway', retryAfterMs: 1 });
    for (const [error, hasNote] of [
      [undefined, false],
      [held, true],
      [down, false],
    ] as const) {
      state.requests = 0;
      state.error = error;
      assert.equal((await holdScans({ client, log })) !== undefined, hasNote);
      assert.equal(state.requests, 2);
    }
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
