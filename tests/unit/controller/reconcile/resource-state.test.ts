import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResourceState } from '../../../../controller/reconcile/resource-state.ts';
import type { Parts } from '../../../../controller/reconcile/wire-parts.ts';

test('a resource gets an event about a foreign repository, a pod, or failures once an hour, and remembers a limited number of them', () => {
  const state = new ResourceState('ns/one', {} as Parts);
  const noted = ['team/a', 'team/a', 'team/b'].map((subject) => state.note(subject));
  assert.deepEqual(noted, [true, false, true]);
  for (let n = 0; n < 1_000; n += 1) assert.ok(state.note(`of/${n}`));
  assert.ok(state.note('team/a'));
  const hourly = Array.from({ length: 300 }, (_, index) => index * 60_000).filter((now) => state.note('failures', now));
  assert.deepEqual(
    hourly,
    [0, 50, 100, 150, 200, 250].map((minutes) => minutes * 60_000),
  );
});
