import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { nextPost } from '../../../../controller/commit-status/next-post.ts';
import type { WantedStatus } from '../../../../controller/commit-status/wanted-status.ts';
import type { CommitStatusRecord } from '../../../../shared/api/gateway-sync-status.ts';
import { fc } from '../../../support/property.ts';
import { commit } from './resource.ts';

type State = CommitStatusRecord['state'];
const want = (state: State, more: Partial<WantedStatus> = {}): WantedStatus => ({
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
  target: 'here',
  time: '2026-01-01T00:00:00Z',
});

suite('the next post of a commit status', () => {
  test('is the first, at once, for a commit without a status', () => {
    const status = { commit, ref: undefined, state: 'pending', description: 'words' };
    assert.deepEqual(nextPost(undefined, want('pending'), 0), { inMs: 0, number: 1, status });
  });

  test('is at once for a result after pending, and never repeats a result', () => {
    assert.equal(nextPost(record('pending', 1), want('success'), 0)?.inMs, 0);
    assert.equal(nextPost(record('success', 2), want('success', { description: 'other words' }), 1e9), undefined);
  });

  test('never replaces a result with pending', () => {
    for (const state of ['success', 'failure'] as const)
      assert.equal(nextPost(record(state, 2), want('pending'), 1e9), undefined);
  });

  test('waits longer for each change of the result, and stops in the end', () => {
    const waits = [2, 3, 4, 5].map((posts) => nextPost(record('success', posts), want('failure'), 0)?.inMs);
    assert.deepEqual(waits, [10_000, 60_000, 600_000, undefined]);
    assert.equal(nextPost(record('success', 3), want('failure'), 59_000)?.inMs, 1_000);
  });

  test('contains the ref that led to the commit', () => {
    for (const before of [undefined, record('pending', 1)])
      assert.equal(nextPost(before, want('success', { ref: 'main' }), 0)?.status.ref, 'main');
  });

  test("doesn't wait if the result is final", () => {
    const decided = want('failure', { isDecided: true });
    assert.equal(nextPost(record('success', 2), decided, 0)?.inMs, 0);
    assert.equal(nextPost(record('success', 5), decided, 0), undefined);
  });

  test('starts with pending if a failure may belong to the previous commit', () => {
    const failure = want('failure', { settling: { ms: 10_000, interim: '0/1 gateways' } });
    const first = nextPost(undefined, failure, 0);
    assert.deepEqual(first?.status, {
      commit,
      ref: undefined,
      state: 'pending',
      description: '0/1 gateways',
    });
    assert.equal(nextPost(record('pending', 1), failure, 2_000)?.inMs, 8_000);
    assert.equal(nextPost(undefined, failure, 10_000)?.status.state, 'failure');
  });

  test('is one of at most five, however often gateways flap, and never repeats the last one', () => {
    const states = fc.constantFrom<State>('pending', 'success', 'failure');
    const changes = fc.array(fc.tuple(states, fc.integer({ min: 1, max: 2_000_000 })), { maxLength: 60 });
    fc.assert(
      fc.property(changes, (sequence) => {
        const said: State[] = [];
        let posted: CommitStatusRecord | undefined;
        for (const [state, lastsMs] of sequence) {
          for (let sinceMs = 0; ; ) {
            const next = nextPost(posted, want(state), sinceMs);
            if (!next || sinceMs + next.inMs > lastsMs) break;
            sinceMs += next.inMs;
            if (next.inMs > 0) continue;
            posted = record(next.status.state, next.number);
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
