import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { StringPool } from '../../../../controller/watch/string-pool.ts';

const resource = () => ({
  name: 'a',
  generation: 3,
  deleting: false,
  status: { conditions: [{ type: 'Ready', message: 'main is 1234', observedGeneration: 3 }], target: null },
});

suite('a pool of strings', () => {
  test('changes nothing that can be seen', () => {
    const pool = new StringPool();
    assert.deepEqual(pool.intern(resource()), resource());
    assert.deepEqual(pool.intern(resource()), resource(), 'nor the second time');
    assert.equal(pool.intern(undefined), undefined);
  });

  test('keeps scalars and empty containers as they are', () => {
    const pool = new StringPool();
    const value = { list: [], none: null, map: {}, flag: true, text: '' };
    assert.deepEqual(pool.intern(structuredClone(value)), value);
  });

  test('takes a bounded amount of memory, however many different strings come', () => {
    const pool = new StringPool();
    const before = process.memoryUsage().heapUsed;
    for (let index = 0; index < 300_000; index += 1) pool.intern({ text: `${index}`.repeat(150) });
    globalThis.gc?.();
    const grown = (process.memoryUsage().heapUsed - before) / 1e6;
    assert.ok(grown < 150, `${grown} MB`);
  });
});
