import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noticeOf } from '../../../../site/.vitepress/theme/notice-of.ts';

const versions = ['next', 'v0.10.0', 'v0.9.0'];

test('pages of an older release and of the next one name the latest release', () => {
  assert.deepEqual(noticeOf('next', versions), {
    text: 'This page describes an unreleased version.',
    latest: 'v0.10.0',
  });
  assert.deepEqual(noticeOf('v0.9.0', versions), {
    text: 'This page describes v0.9.0, which is not the latest version.',
    latest: 'v0.10.0',
  });
});

test('pages of the latest release have no notice, nor do those of the next one before the first release', () => {
  assert.equal(noticeOf('v0.10.0', versions), undefined);
  assert.equal(noticeOf('next', ['next']), undefined);
  assert.equal(noticeOf('next', []), undefined);
});
