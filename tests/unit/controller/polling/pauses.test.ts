import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Pauses } from '../../../../controller/polling/pauses.ts';

suite('pauses', () => {
  test('end by themselves, and are forgotten then', () => {
    const pauses = new Pauses();
    pauses.set('a', 100);
    assert.deepEqual([pauses.endOf('a', 99), pauses.endOf('b', 99)], [100, 0]);
    assert.equal(pauses.endOf('a', 100), 0);
    assert.equal(pauses.size, 0);
  });

  test('are a thousand at most, the newest, however many hosts ask for one', () => {
    const pauses = new Pauses();
    const started = performance.now();
    for (let number = 0; number < 200_000; number += 1) pauses.set(`host-${number}.test`, 1e9);
    assert.ok(performance.now() - started < 5_000, 'the time must not grow with the square of the number');
    assert.equal(pauses.size, 1_000);
    assert.deepEqual([pauses.endOf('host-199999.test', 0), pauses.endOf('host-0.test', 0)], [1e9, 0]);
  });

  test('that are asked for again count as new', () => {
    const pauses = new Pauses();
    for (let number = 0; number < 1_500; number += 1) {
      pauses.set('again', 1e9 + number);
      pauses.set(`other-${number}`, 1e9);
    }
    assert.equal(pauses.endOf('again', 0), 1e9 + 1_499);
  });
});
