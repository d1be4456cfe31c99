import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CallSlots } from '../../../../controller/polling/host-limiter.ts';

suite('slots for concurrent calls', () => {
  test('are for all in one half, and for namespaces that have none in the other', () => {
    const slots = new CallSlots(4);
    assert.ok(slots.isEmpty);
    for (const namespace of ['a', 'a']) {
      assert.ok(slots.hasFor(namespace));
      slots.take(namespace);
    }
    assert.ok(!slots.hasFor('a') && slots.hasFor('b'));
    for (const namespace of ['b', 'c']) slots.take(namespace);
    assert.ok(!slots.hasFor('d'));
    slots.release('a');
    assert.ok(!slots.hasFor('a') && slots.hasFor('d'));
    for (const namespace of ['a', 'b', 'c']) slots.release(namespace);
    assert.ok(slots.isEmpty && slots.hasFor('a'));
  });

  test('can be limited per namespace', () => {
    const slots = new CallSlots(8, 1);
    slots.take('a');
    assert.ok(!slots.hasFor('a') && slots.hasFor('b'));
  });
});
