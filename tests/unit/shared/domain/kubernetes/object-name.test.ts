import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPossible } from '../../../../../shared/domain/kubernetes/object-name.ts';

test('names that Kubernetes accepts are possible', () => {
  for (const [namespace, name] of [
    ['a', '1'],
    ['team-1', 'site.v2'],
    ['x'.repeat(63), 'y'.repeat(63)],
  ] as const)
    assert.equal(isPossible({ namespace, name }), true, `${namespace}/${name}`);
});

test('names that Kubernetes rejects, or that change a path, are not possible', () => {
  const hostile = ['', '.', '..', '-a', 'a-', 'A', 'a_b', 'a/b', 'a%2Fb', 'a\n', 'ü', 'a..b', '.a', 'x'.repeat(254)];
  for (const text of hostile) {
    assert.equal(isPossible({ namespace: 'default', name: text }), false, text);
    assert.equal(isPossible({ namespace: text, name: 'demo' }), false, text);
  }
  assert.equal(isPossible({ namespace: 'a.b', name: 'demo' }), false);
});
