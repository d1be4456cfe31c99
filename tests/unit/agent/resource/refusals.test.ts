import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Refusals } from '../../../../agent/resource/refusals.ts';

const delays = (refusals: Refusals, count: number) => Array.from({ length: count }, () => refusals.next());

suite('an agent whose requests are refused', () => {
  test('at start retries every second, and after half a minute less and less often', () => {
    const all = delays(new Refusals(), 10_000);
    assert.ok(all.slice(0, 30).every((delay) => delay === 1_000));
    assert.equal(all[31], 4_000);
    assert.equal(all.at(-1), 60_000);
  });

  test('after it had permission retries less and less often from the beginning', () => {
    const refusals = new Refusals();
    refusals.end();
    assert.deepEqual(
      delays(refusals, 8),
      [1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000),
    );
    refusals.end();
    assert.equal(refusals.next(), 1_000);
  });

  test('logs it less and less often', () => {
    const refusals = new Refusals();
    const reported = Array.from({ length: 100 }, () => refusals.next() > 0 && refusals.isNews);
    assert.equal(reported.filter(Boolean).length, 7);
    assert.equal(reported[0], true);
  });
});
