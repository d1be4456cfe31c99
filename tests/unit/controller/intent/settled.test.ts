import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventOf, isMentioned, isSettled, readIntents } from '../../../../controller/intent/intents.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus, RequestOutcome } from '../../../../shared/api/gateway-sync-status.ts';

const request = { ref: 'v1', id: '1', at: '2026-01-02T00:00:00Z' };

interface Case {
  says: string;
  /** Outcome of the request in the status. If omitted, there is no request; undefined if the status lacks it. */
  request?: { outcome: RequestOutcome | undefined };
  observedGeneration?: number;
  polled?: boolean;
  settled: boolean;
  mentioned: boolean;
  event: boolean;
}

const cases: Case[] = [
  { says: 'a resource at rest', settled: true, mentioned: true, event: false },
  { says: 'an edit, polled', observedGeneration: 1, settled: false, mentioned: false, event: false },
  { says: 'an edit, not polled', observedGeneration: 1, polled: false, settled: false, mentioned: false, event: true },
  { says: 'at rest, not polled', polled: false, settled: true, mentioned: true, event: false },
  { says: 'a new request', request: { outcome: undefined }, settled: false, mentioned: false, event: true },
  { says: 'a request that waits', request: { outcome: 'Pending' }, settled: false, mentioned: true, event: true },
  { says: 'a request that is done', request: { outcome: 'Applied' }, settled: true, mentioned: true, event: false },
];

function observed({ polled = true, observedGeneration = 2, request: asked }: Case): ObservedGatewaySync {
  const status: GatewaySyncStatus = {
    observedGeneration,
    observedRef: 'main',
    target: { ref: 'main', source: 'Spec' },
    ...(asked?.outcome ? { lastRequest: { ...request, outcome: asked.outcome } } : {}),
  };
  return {
    namespace: 'a',
    name: 'b',
    uid: 'c',
    generation: 2,
    resourceVersion: '1',
    createdAt: 0,
    deleting: false,
    spec: { git: { ref: 'main' }, polling: { enabled: polled }, webhook: {} } as ObservedGatewaySync['spec'],
    status,
    ...(asked ? { request: { ...request, applied: false } } : {}),
  };
}

suite('the status contains the outcome', () => {
  for (const expected of cases) {
    test(`of ${expected.says}`, () => {
      const gatewaySync = observed(expected);
      const intents = readIntents(gatewaySync);
      assert.deepEqual(
        {
          settled: isSettled(gatewaySync, intents),
          mentioned: isMentioned(gatewaySync, intents),
          event: eventOf(gatewaySync, intents) !== undefined,
        },
        { settled: expected.settled, mentioned: expected.mentioned, event: expected.event },
      );
    });
  }

  test('of one request in one event, however often it is reconciled, and of the next in another', () => {
    const first = observed({
      says: '',
      request: { outcome: undefined },
      settled: false,
      mentioned: false,
      event: true,
    });
    const waiting = observed({
      says: '',
      request: { outcome: 'Pending' },
      settled: false,
      mentioned: true,
      event: true,
    });
    const next = { ...first, request: { ...request, id: '2', applied: false } };
    const event = (gatewaySync: ObservedGatewaySync) => eventOf(gatewaySync, readIntents(gatewaySync));
    assert.equal(event(first), event(waiting));
    assert.notEqual(event(first), event(next));
    const change = (fields: object) => ({ ...first, request: { ...request, applied: false, ...fields } });
    const push = (fields: object) => ({
      ...observed({ says: '', settled: false, mentioned: false, event: true }),
      push: { ref: 'refs/heads/a', at: request.at, applied: false, ...fields },
    });
    const all = [
      ...[first, change({ ref: 'v2' }), change({ at: '2026-01-03T00:00:00Z' }), change({ by: 'ci' })],
      ...[push({}), push({ ref: 'refs/heads/b' }), push({ at: '2026-01-03T00:00:00Z' })],
    ];
    assert.equal(new Set(all.map(event)).size, all.length);
    const edited = {
      ...observed({ says: '', polled: false, settled: false, mentioned: false, event: true }),
      generation: 3,
    };
    assert.notEqual(event(edited), event({ ...edited, generation: 4 }));
  });
});
