import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CallPlaces } from '../../../../controller/polling/call-places.ts';

suite('places for concurrent calls', () => {
  test('are for all in one half, and for namespaces that have none in the other', () => {
    const places = new CallPlaces(4);
    assert.ok(places.isEmpty);
    for (const namespace of ['a', 'a']) {
      assert.ok(places.hasFor(namespace));
      places.take(namespace);
    }
    assert.ok(!places.hasFor('a') && places.hasFor('b'));
    for (const namespace of ['b', 'c']) places.take(namespace);
    assert.ok(!places.hasFor('d'));
    places.release('a');
    assert.ok(!places.hasFor('a') && places.hasFor('d'));
    for (const namespace of ['a', 'b', 'c']) places.release(namespace);
    assert.ok(places.isEmpty && places.hasFor('a'));
  });

  test('can be limited per namespace', () => {
    const places = new CallPlaces(8, 1);
    places.take('a');
    assert.ok(!places.hasFor('a') && places.hasFor('b'));
  });
});
