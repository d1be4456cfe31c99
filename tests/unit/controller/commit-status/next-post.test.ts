import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { nextPost } from '../../../../controller/commit-status/next-post.ts';
import type { CommitStatus } from '../../../../controller/commit-status/servers.ts';
import type { CommitStatusRecord } from '../../../../shared/api/gateway-sync-status.ts';
import { fc } from '../../../support/property.ts';
import { commit } from './resource.ts';

type State = CommitStatusRecord['state'];
const want = (state: State, more: Partial<CommitStatus> = {}): CommitStatus => ({
  commit,
  state,
  description: 'words',
  ...more,
});
const record = (state: State, posts: number): CommitStatusRecord => ({
  commit,
  state,
  posts,
  context: 'plant',
  time: '2026-01-01T00:00:00Z',
});

suite('the next post of a commit status', () => {
  test('is pending, at once, for a commit without a status', () => {
    assert.deepEqual(nextPost(undefined, want('pending'), { desiredForMs: 0 }), { inMs: 0, status: want('pending') });
    for (const state of ['success', 'failure'] as const) {
      const first = nextPost(undefined, want(state), { desiredForMs: 1e9 });
      assert.deepEqual([first?.inMs, first?.status.state], [0, 'pending']);
    }
  });

  test('is a result that has lasted 30 s, and never repeats it', () => {
    for (const before of [record('pending', 1), record('failure', 2)]) {
      assert.equal(nextPost(before, want('success'), { desiredForMs: 10_000 })?.inMs, 20_000);
      assert.deepEqual(nextPost(before, want('success'), { desiredForMs: 30_000 }), {
        inMs: 0,
        status: want('success'),
      });
    }
    const other = want('success', { description: 'other words' });
    assert.equal(nextPost(record('success', 2), other, { desiredForMs: 1e9 }), undefined);
  });

  test('never replaces a result with pending', () => {
    for (const state of ['success', 'failure'] as const)
      assert.equal(nextPost(record(state, 2), want('pending'), { desiredForMs: 1e9 }), undefined);
  });

  test('after five posts for the commit is a result that has lasted an hour', () => {
    assert.equal(nextPost(record('success', 4), want('failure'), { desiredForMs: 30_000 })?.inMs, 0);
    assert.equal(nextPost(record('success', 5), want('failure'), { desiredForMs: 30_000 })?.inMs, 3_570_000);
  });

  test('contains the ref that led to the commit', () => {
    for (const before of [undefined, record('pending', 1)])
      assert.equal(nextPost(before, want('success', { ref: 'main' }), { desiredForMs: 0 })?.status.ref, 'main');
  });

  test('is one of few, however often gateways flap, and never repeats the last one', () => {
    const states = fc.constantFrom<State>('pending', 'success', 'failure');
    const changes = fc.array(fc.tuple(states, fc.integer({ min: 1, max: 2_000_000 })), { maxLength: 60 });
    fc.assert(
      fc.property(changes, (sequence) => {
        const said: State[] = [];
        let posted: CommitStatusRecord | undefined;
        for (const [state, lastsMs] of sequence) {
          for (let desiredForMs = 0; ; ) {
            const next = nextPost(posted, want(state), { desiredForMs });
            if (!next || desiredForMs + next.inMs > lastsMs) break;
            desiredForMs += next.inMs;
            if (next.inMs > 0) continue;
            posted = record(next.status.state, (posted?.posts ?? 0) + 1);
            said.push(posted.state);
          }
        }
        assert.ok(said.length <= 5, said.join());
        assert.ok(
          said.every((state, index) => state !== said[index - 1]),
          said.join(),
        );
        assert.ok(!said.slice(1).includes('pending'), said.join());
      }),
    );
  });
});
