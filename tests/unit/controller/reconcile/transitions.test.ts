import assert from 'node:assert/strict';
import { test } from 'node:test';
import { appliedDelays, orderTransitions } from '../../../../controller/reconcile/transitions.ts';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';

const now = Date.parse('2026-11-21T12:00:10.000Z');
const request = { id: 'a', ref: 'v1', at: '2026-11-21T12:00:00.000Z' };
const push = { ref: 'refs/heads/main', at: '2026-11-21T12:00:09.500Z' };

test('a request and a push that become applied are each told with the time since they were made', () => {
  const before = { lastRequest: { ...request, outcome: 'Pending' as const } };
  const after = {
    lastRequest: { ...request, outcome: 'Applied' as const },
    lastPush: { ...push, outcome: 'Applied' as const },
  };
  assert.deepEqual(appliedDelays(before, after, now), [10, 0.5]);
});

test('what was applied before, or is not applied, is not told', () => {
  const applied = { lastRequest: { ...request, outcome: 'Applied' as const } };
  assert.deepEqual(appliedDelays(applied, applied, now), []);
  assert.deepEqual(appliedDelays({}, { lastRequest: { ...request, outcome: 'Failed' } }, now), []);
  assert.deepEqual(appliedDelays({}, {}, now), []);
});

test('a time that cannot be read is no time, and one ahead of our clock is now', () => {
  const at = (value?: string) => ({
    lastRequest: { ref: 'v1', outcome: 'Applied' as const, ...(value && { at: value }) },
  });
  assert.deepEqual(appliedDelays({}, at(), now), []);
  assert.deepEqual(appliedDelays({}, at('yesterday'), now), []);
  assert.deepEqual(appliedDelays({}, at('2026-11-21T13:00:00.000Z'), now), [0]);
});

const withOrders = (handled?: RolloutStatus['handled']) => ({ rollout: { handled } as RolloutStatus });

test('an order of people is told once, with who gave it', () => {
  const after = withOrders({ approve: 'abc', rollback: 'previous', retry: 'def' });
  const authors = { approve: { user: 'anna', manager: 'kubectl-annotate' }, rollback: { manager: 'kubectl-annotate' } };
  assert.deepEqual(
    orderTransitions(withOrders(), after, authors).map(({ reason, message }) => `${reason}: ${message}`),
    [
      'RolloutApproved: commit abc was approved by anna',
      'RollbackOrdered: sync.io/rollback: previous was set (by the client kubectl-annotate)',
      'RetryOrdered: sync.io/retry-rollout: def was set',
    ],
  );
  assert.deepEqual(orderTransitions(after, after, authors), []);
  assert.deepEqual(orderTransitions(after, withOrders(), authors), []);
});

test('an order that means nothing is told as a warning', () => {
  const told = orderTransitions(withOrders(), withOrders({ rollback: 'abc', ignored: ['rollback'] }), {});
  assert.deepEqual(told, [
    { type: 'Warning', reason: 'RollbackOrdered', message: 'sync.io/rollback: abc was set, and has no effect' },
  ]);
});

test('orders that were there before the rollout are no news', () => {
  assert.deepEqual(orderTransitions({}, withOrders({ approve: 'abc' }), {}), []);
});
