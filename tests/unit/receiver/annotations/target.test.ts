import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isPossibleTarget } from '../../../../receiver/annotations/target.ts';

test('names that Kubernetes accepts are possible', () => {
  for (const [namespace, name] of [
    ['default', 'demo'],
    ['a', '1'],
    ['team-1', 'site.v2'],
    ['x'.repeat(63), 'y'.repeat(63)],
  ] as const) {
    assert.equal(isPossibleTarget({ namespace, name }), true, `${namespace}/${name}`);
  }
});

test('names that Kubernetes refuses, or that would lead elsewhere in a path, are not', () => {
  const hostile = [
    '',
    '.',
    '..',
    '-a',
    'a-',
    'A',
    'a_b',
    'a/b',
    'a%2Fb',
    '%2e%2e',
    'a b',
    'a\n',
    'ü',
    'a..b',
    '.a',
    'a.',
    'a?b',
    'a#b',
    'x'.repeat(254),
  ];
  for (const text of hostile) {
    assert.equal(isPossibleTarget({ namespace: 'default', name: text }), false, text);
    assert.equal(isPossibleTarget({ namespace: text, name: 'demo' }), false, text);
  }
  assert.equal(isPossibleTarget({ namespace: 'a.b', name: 'demo' }), false);
});
