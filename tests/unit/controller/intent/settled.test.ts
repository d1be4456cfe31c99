import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventOf, isMentioned, isSettled, readIntents } from '../../../../controller/intent/intents.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncStatus, RequestOutcome } from '../../../../shared/api/gateway-sync-status.ts';

const request = { ref: 'v1', id: '1', at: '2026-01-02T00:00:00Z' };

interface Given {
  /** Outcome of the request in the status. If omitted, there is no request; undefined if the status lacks it. */
  request?: { outcome: RequestOutcome | undefined };
  observedGeneration?: number;
  polled?: boolean;
}

/** Whether it is settled, mentioned in the status, and an event that leads to a query. */
const cases: [what: string, given: Given, expected: string][] = [
  ['a resource at rest', {}, 'settled, mentioned'],
  ['an edit, polled', { observedGeneration: 1 }, ''],
  ['an edit, not polled', { observedGeneration: 1, polled: false }, 'event'],
  ['a resource at rest, not polled', { polled: false }, 'settled, mentioned'],
  ['a new request', { request: { outcome: undefined } }, 'event'],
  ['a request that waits', { request: { outcome: 'Pending' } }, 'mentioned, event'],
  ['a request that is done', { request: { outcome: 'Applied' } }, 'settled, mentioned'],
];

function observed({ polled = true, observedGeneration = 2, request: asked }: Given = {}): ObservedGatewaySync {
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
    ...(asked ? { request: { ...request, applied: false, seenAt: 0 } } : {}),
  };
}

suite('the status contains the outcome', () => {
  for (const [what, given, expected] of cases) {
    test(`of ${what}`, () => {
      const gatewaySync = observed(given);
      const intents = readIntents(gatewaySync);
      const answers = {
        settled: isSettled(gatewaySync, intents),
        mentioned: isMentioned(gatewaySync, intents),
        event: eventOf(gatewaySync, intents) !== undefined,
      };
      const names = Object.entries(answers).flatMap(([name, isTrue]) => (isTrue ? [name] : []));
      assert.equal(names.join(', '), expected);
    });
  }

  test('of one request in one event, however often it is reconciled, and of the next in another', () => {
    const first = observed({ request: { outcome: undefined } });
    const waiting = observed({ request: { outcome: 'Pending' } });
    const next = { ...first, request: { ...request, id: '2', applied: false, seenAt: 0 } };
    const event = (gatewaySync: ObservedGatewaySync) => eventOf(gatewaySync, readIntents(gatewaySync));
    assert.equal(event(first), event(waiting));
    assert.notEqual(event(first), event(next));
    const change = (fields: object) => ({ ...first, request: { ...request, applied: false, seenAt: 0, ...fields } });
    const push = (fields: object) => ({
      ...observed(),
      push: { ref: 'refs/heads/a', at: request.at, applied: false, seenAt: 0, ...fields },
    });
    const all = [
      ...[first, change({ ref: 'v2' }), change({ at: '2026-01-03T00:00:00Z' }), change({ by: 'ci' })],
      ...[push({}), push({ ref: 'refs/heads/b' }), push({ at: '2026-01-03T00:00:00Z' })],
    ];
    assert.equal(new Set(all.map(event)).size, all.length);
    const edited = { ...observed({ polled: false }), generation: 3 };
    assert.notEqual(event(edited), event({ ...edited, generation: 4 }));
  });
});
