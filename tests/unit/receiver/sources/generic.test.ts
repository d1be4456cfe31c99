import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readGeneric } from '../../../../receiver/sources/generic.ts';

test('tags, short names, full tag names, and commits are requests, exactly as written', () => {
  for (const ref of ['v1.2.3', 'main', 'feature/x', 'refs/tags/v1', 'a'.repeat(40), 'ünïcode']) {
    assert.deepEqual(readGeneric({}, { ref }), { kind: 'request', ref, source: 'generic' });
  }
});

test('the full name of a branch in a generic body is a push to it', () => {
  const ref = 'refs/heads/main';
  assert.deepEqual(readGeneric({}, { ref }), { kind: 'push', ref, source: 'generic' });
});

test('a push whose ref was deleted is ignored', () => {
  for (const fields of [{ deleted: true }, { after: '0'.repeat(40) }, { after: '0'.repeat(64) }]) {
    const body = { ref: 'refs/tags/v1', ...fields };
    assert.deepEqual(readGeneric({}, body), { kind: 'nothing', reason: 'Deleted', source: 'generic' });
  }
});

test('a body of a git server without its header must be a push', () => {
  const sender = { login: 'octocat' };
  const ignored = { kind: 'nothing', reason: 'OtherEvent', source: 'generic' };
  for (const body of [
    { ref: 'v1', ref_type: 'tag', pusher_type: 'user', sender },
    { ref: 'v1', ref_type: 'tag', pusher_type: 'user' },
    { object_kind: 'build', ref: 'v1', tag: true, before_sha: '0', sha: 'a' },
  ])
    assert.deepEqual(readGeneric({}, body), ignored, JSON.stringify(body));
  const after = 'a'.repeat(40);
  for (const server of [{ sender }, { object_kind: 'tag_push' }]) {
    const body = { ref: 'refs/tags/v1', before: '0'.repeat(40), after, ...server };
    assert.deepEqual(readGeneric({}, body), { kind: 'request', ref: 'refs/tags/v1', source: 'generic' });
  }
});

test('names that git rejects or can mistake for an option are invalid', () => {
  for (const ref of ['', '-', '--upload-pack=/bin/sh', 'a b', 'a..b', 'refs/heads/', 'x'.repeat(256)])
    assert.equal(readGeneric({}, { ref })?.kind, 'invalid', JSON.stringify(ref));
  assert.partialDeepStrictEqual(readGeneric({}, { ref: '-c', reason: 'hello' }), {
    kind: 'invalid',
    reason: 'InvalidRef',
    source: 'generic',
  });
});

test("a ref that isn't a string is invalid", () => {
  for (const ref of [0, true, ['main'], { ref: 'main' }])
    assert.equal(readGeneric({}, { ref })?.kind, 'invalid', JSON.stringify(ref));
});

test("a body without a ref isn't generic", () => {
  for (const body of [{}, { ref: null }, { Ref: 'main' }, { refs: ['main'] }]) {
    assert.equal(readGeneric({}, body), undefined);
  }
});

test('a string reason is logged in a limited length, and other values are ignored', () => {
  assert.deepEqual(readGeneric({}, { ref: 'v1', reason: 'x'.repeat(1000) }), {
    kind: 'request',
    ref: 'v1',
    source: 'generic',
    senderReason: 'x'.repeat(200),
  });
  for (const reason of ['', null, 1, {}, ['x']]) {
    assert.deepEqual(readGeneric({}, { ref: 'v1', reason }), { kind: 'request', ref: 'v1', source: 'generic' });
  }
});
