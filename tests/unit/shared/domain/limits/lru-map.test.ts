import assert from 'node:assert/strict';
import { it } from 'node:test';
import { LruMap } from '../../../../../shared/domain/limits/lru-map.ts';

it('an LRU map keeps at most its maximum of entries, those set or read last', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.get('a');
  map.set('c', 3);
  assert.deepEqual([map.get('a'), map.get('b'), map.get('c'), map.size], [1, undefined, 3, 2]);
});

it('an LRU map replaces the value of a key without dropping another one', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  map.set('a', 3);
  assert.deepEqual([map.get('a'), map.get('b'), map.size], [3, 2, 2]);
});

it('an LRU map deletes an entry', () => {
  const map = new LruMap<string, number>(2);
  map.set('a', 1);
  assert.deepEqual([map.delete('a'), map.delete('a'), map.size], [true, false, 0]);
});
