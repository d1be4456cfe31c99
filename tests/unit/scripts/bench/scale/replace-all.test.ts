import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replaceAll } from '../../../../../scripts/bench/scale/replicate.ts';

test('a copy has its own words, and nothing is replaced twice', () => {
  const replacements = new Map([
    ['gateway-0', 'gateway-1'],
    ['gateway-1', 'gateway-2'],
    ['http://127.0.0.1:80/a.git', 'http://127.0.0.2:80/b.git'],
  ]);
  const stored = '{"pods":["gateway-0","gateway-1"],"repo":"http://127.0.0.1:80/a.git","other":"127x0.0.1"}';
  assert.equal(
    replaceAll(stored, replacements),
    '{"pods":["gateway-1","gateway-2"],"repo":"http://127.0.0.2:80/b.git","other":"127x0.0.1"}',
  );
});
