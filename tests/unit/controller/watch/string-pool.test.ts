import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { StringPool } from '../../../../controller/watch/string-pool.ts';

const resource = () => ({
  name: 'a',
  generation: 3,
  deleting: false,
  empty: { list: [], map: {}, text: '' },
  status: { conditions: [{ type: 'Ready', message: 'main is 1234', observedGeneration: 3 }], target: null },
});

suite('the pool of strings', () => {
  test('makes no visible difference', () => {
    const pool = new StringPool();
    assert.deepEqual(pool.intern(resource()), resource());
    assert.deepEqual(pool.intern(resource()), resource(), 'nor the second time');
    assert.equal(pool.intern(undefined), undefined);
  });

  test('uses a limited amount of memory, however many strings come', () => {
    const pool = new StringPool();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 300_000; index += 1) pool.intern({ text: `${index}`.repeat(150) });
    globalThis.gc?.();
    const grown = (process.memoryUsage().heapUsed - before) / 1e6;
    assert.ok(grown < 150, `${grown} MB`);
  });
});
