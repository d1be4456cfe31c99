import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureEvent } from '../../../../../controller/reconcile/events/status-transitions.ts';
import { codedError } from '../../../../support/coded-error.ts';

test('a resource gets an event after the fifth failure in a row, with the error message', () => {
  const events = [1, 2, 3, 4, 5].map((failures) => failureEvent(failures, codedError('ECONNREFUSED')));
  assert.deepEqual(events.slice(0, 4), [undefined, undefined, undefined, undefined]);
  assert.deepEqual([events[4]?.type, events[4]?.reason], ['Warning', 'ReconcileFailed']);
  assert.match(events[4]?.message ?? '', /^5 .*ECONNREFUSED/);
});
