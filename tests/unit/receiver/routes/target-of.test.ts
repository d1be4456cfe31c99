import assert from 'node:assert/strict';
import { test } from 'node:test';
import { targetOf } from '../../../../receiver/routes/target-of.ts';

test('the path of a webhook names a namespace and a resource', () => {
  const demo = { namespace: 'team', name: 'demo' };
  for (const path of ['/webhook/team/demo', '/webhook/team/demo/', '/webhook/team/demo?x=/y', '/webhook/team/demo/?']) {
    assert.deepEqual(targetOf(path), demo, path);
  }
});

test('escapes stay as they are written, so that they name nothing that exists', () => {
  assert.deepEqual(targetOf('/webhook/team/%64emo'), { namespace: 'team', name: '%64emo' });
  assert.deepEqual(targetOf('/webhook/team/a%2Fb'), { namespace: 'team', name: 'a%2Fb' });
});

test('all other paths name nothing', () => {
  const paths = [
    '',
    '/',
    '/webhook',
    '/webhook/team',
    '/webhook//demo',
    '/webhook/team/',
    '/webhook/a/b/c',
    '/x/webhook/a/b',
    '/WEBHOOK/a/b',
    '/webhook/a/%zz',
    '/webhook/%/b',
  ];
  for (const path of [undefined, ...paths, 'http://x/webhook/a/b', '/webhook/a?b/c', '*']) {
    assert.equal(targetOf(path), undefined, String(path));
  }
});
