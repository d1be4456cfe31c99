import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isHandled } from '../../../../../scripts/bench/scale/deliveries.ts';

const wallAt = Date.parse('2026-01-01T00:00:10Z');
const push = { kind: 'push', wallAt } as const;
const release = { kind: 'release', wallAt, requestId: 'mine' } as const;
const earlier = '2026-01-01T00:00:09.999Z';
const later = '2026-01-01T00:00:10.000Z';

test('a push is handled once the status contains it or a newer one', () => {
  const answer = (at: string, outcome: 'Applied' | 'Pending') => ({ lastPush: { ref: 'main', at, outcome } });
  assert.equal(isHandled(push, answer(later, 'Applied')), true);
  assert.equal(isHandled(push, answer(earlier, 'Applied')), false);
  assert.equal(isHandled(push, answer(later, 'Pending')), false);
  assert.equal(isHandled(push, { lastRequest: { ref: 'v1', at: later, outcome: 'Applied' } }), false);
  assert.equal(isHandled(push, undefined), false);
});

test('a release is handled once the status contains it or a newer one', () => {
  const answer = (id: string, at: string) => ({ lastRequest: { id, ref: 'v1', at, outcome: 'Superseded' as const } });
  assert.equal(isHandled(release, answer('mine', earlier)), true);
  assert.equal(isHandled(release, answer('another', earlier)), false);
  assert.equal(isHandled(release, answer('another', later)), true);
});
