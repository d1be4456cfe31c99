import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readArgoCd } from '../../../../receiver/sources/argocd.ts';

const notification = (annotations: unknown) => ({ app: { metadata: { name: 'site', annotations } } });

test("an application's annotation git.ref is the requested ref of Argo CD", () => {
  const body = notification({ 'git.ref': 'v2.0.0', other: 'x' });
  assert.deepEqual(readArgoCd({}, body), { kind: 'request', ref: 'v2.0.0', source: 'argocd' });
});

test('the full name of a branch from Argo CD is a push to it', () => {
  const body = notification({ 'git.ref': 'refs/heads/main' });
  assert.deepEqual(readArgoCd({}, body), { kind: 'push', ref: 'refs/heads/main', source: 'argocd' });
});

test("a template's output for a missing value is invalid", () => {
  for (const ref of ['<no value>', '', 7])
    assert.equal(readArgoCd({}, notification({ 'git.ref': ref }))?.kind, 'invalid', JSON.stringify(ref));
});

test("bodies of other shapes aren't from Argo CD", () => {
  const bodies = [
    ...[{}, { app: null }, { app: 'x' }, { app: { metadata: 1 } }],
    ...[null, ['git.ref'], {}, { 'git.ref': null }, { git: { ref: 'v1' } }].map(notification),
  ];
  for (const body of bodies) assert.equal(readArgoCd({}, body), undefined, JSON.stringify(body));
});
