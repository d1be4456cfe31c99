import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { nextPost, type WantedPost } from '../../../../controller/commit-status/next-post.ts';
import type { CommitStatusRecord } from '../../../../shared/api/gateway-sync-status.ts';
import { commit } from './resource.ts';

const destination: WantedPost['destination'] = {
  ...{ provider: 'github', api: 'https://api.github.com', project: ['plant', 'config'] },
  ...{ context: 'plant', target: 'here' },
};
type State = CommitStatusRecord['state'];
const want = (state: State, more: Partial<WantedPost['wanted']> = {}): WantedPost => ({
  destination,
  wanted: { commit, state, description: 'words', ...more },
});
const record = (state: State, posts: number, more: Partial<CommitStatusRecord> = {}): CommitStatusRecord => ({
  ...{ commit, state, posts, context: 'plant', target: 'here', time: '2026-01-01T00:00:00Z' },
  ...more,
});

suite('the next post', () => {
  test('of a commit of which nothing was said is at once, and the first', () => {
    for (const before of [
      undefined,
      record('success', 5, { commit: 'b'.repeat(40) }),
      record('success', 5, { target: 'elsewhere' }),
    ]) {
      const status = { commit, state: 'pending', description: 'words' };
      assert.deepEqual(nextPost(before, want('pending'), 0), { inMs: 0, number: 1, status });
    }
  });

  test('of a result is at once after pending, and none where it is said already', () => {
    assert.equal(nextPost(record('pending', 1), want('success'), 0)?.inMs, 0);
    assert.equal(nextPost(record('success', 2), want('success', { description: 'other words' }), 1e9), undefined);
  });

  test('takes no result back for pending', () => {
    for (const state of ['success', 'failure'] as const)
      assert.equal(nextPost(record(state, 2), want('pending'), 1e9), undefined);
  });

  test('of another result waits the longer the more was said, and comes to an end', () => {
    const waits = [2, 3, 4, 5].map((posts) => nextPost(record('success', posts), want('failure'), 0)?.inMs);
    assert.deepEqual(waits, [10_000, 60_000, 600_000, undefined]);
    assert.equal(nextPost(record('success', 3), want('failure'), 59_000)?.inMs, 1_000);
  });

  test('of pending that a host may have stored is made twice, so that the result has the rest', () => {
    const unclear = (posts: number) => ({ ...record('pending', posts), isUnclear: true });
    assert.equal(nextPost(unclear(1), want('pending'), 0)?.number, 2);
    assert.equal(nextPost(unclear(2), want('pending'), 1e9), undefined);
    assert.equal(nextPost(unclear(2), want('success'), 1e9)?.number, 3);
    assert.equal(nextPost(unclear(5), want('success'), 1e9), undefined);
  });

  test('goes with the ref that led to the commit', () => {
    for (const before of [undefined, record('pending', 1)])
      assert.equal(nextPost(before, want('success', { ref: 'main' }), 0)?.status.ref, 'main');
  });

  test('of what was decided waits for nothing', () => {
    const decided = want('failure', { isDecided: true });
    assert.equal(nextPost(record('success', 2), decided, 0)?.inMs, 0);
    assert.equal(nextPost(record('success', 5), decided, 0), undefined);
  });

  test('of a failure that may be about the commit before says pending first', () => {
    const failure = want('failure', { settling: { ms: 10_000, meanwhile: '0/1 gateways' } });
    const first = nextPost(undefined, failure, 0);
    assert.deepEqual(first?.status, { commit, state: 'pending', description: '0/1 gateways' });
    assert.equal(nextPost(record('pending', 1), failure, 2_000)?.inMs, 8_000);
    assert.equal(nextPost(undefined, failure, 10_000)?.status.state, 'failure');
  });

  test('is one of five at most, however the gateways flap, and never the same twice in a row', () => {
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
