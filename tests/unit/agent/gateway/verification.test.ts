import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  holds,
  judgeCheck,
  startChecks,
  subjectOf,
  type VerificationResult,
} from '../../../../agent/gateway/verification.ts';
import type { Intent } from '../../../../agent/resource/judge-resource.ts';
import { intentOf } from '../../../support/intents.ts';

const bounds = { forMs: 60_000, intervalMs: 5_000, failureThreshold: 3 };
const problem = { words: 'it answered 503', isBeforeStart: false };
const starting = { words: 'no server listens', isBeforeStart: true };

/** A check: seconds since the start, and its result: healthy, unhealthy, or not started yet. */
type Seen = [atSeconds: number, found: 'well' | 'wrong' | 'starting'];

/** Judges checks in sequence up to the first end. */
function judge(checks: Seen[], changes: Partial<typeof bounds> = {}): string {
  let before = startChecks(0);
  let last = '';
  for (const [index, [at, found]] of checks.entries()) {
    const seen = { well: undefined, wrong: problem, starting }[found];
    const judgement = judgeCheck(before, { atMs: at * 1000, problem: seen }, { ...bounds, ...changes });
    if (judgement.kind !== 'running') {
      assert.equal(index, checks.length - 1, 'nothing comes after the end');
      return judgement.kind === 'failed' ? `failed: ${judgement.words}` : 'passed';
    }
    before = judgement.history;
    last = `next in ${judgement.waitMs / 1000}s`;
  }
  return last;
}

suite('judgeCheck', () => {
  const well = (...times: number[]): Seen[] => times.map((time) => [time, 'well']);
  const unstarted = (...times: number[]): Seen[] => times.map((time) => [time, 'starting']);
  const wrong = (...times: number[]): Seen[] => times.map((time) => [time, 'wrong']);
  const cases: [name: string, checks: Seen[], expected: string, changes?: Partial<typeof bounds>][] = [
    ['one good look is not enough', well(0), 'next in 5s'],
    ['all well for the whole time', well(0, 5, 30, 55, 60), 'passed'],
    ['a moment too early', well(0, 59.9), 'next in 0.1s'],
    ['no time at all: one good look', well(0), 'passed', { forMs: 0 }],
    ['an interval that is longer than the time', well(0), 'next in 60s', { intervalMs: 600_000 }],
    ['one less than the threshold', wrong(0, 5), 'next in 5s'],
    ['the threshold', wrong(0, 5, 10), 'failed: it answered 503'],
    ['a threshold of one', wrong(0), 'failed: it answered 503', { failureThreshold: 1 }],
    ['a bad look lets the time begin again', [...well(0, 55), ...wrong(58), ...well(61, 118)], 'next in 3s'],
    ['and it then passes', [...well(0, 55), ...wrong(58), ...well(61, 121)], 'passed'],
    ['a good look between bad ones', [...wrong(0, 5), ...well(10), ...wrong(15, 20)], 'next in 5s'],
    ['a bad look at the very end', [...well(0, 55), ...wrong(60)], 'next in 5s'],
    ['a gateway that has not started yet is waited for', unstarted(0, 5, 10, 500), 'next in 5s'],
    ['but not for ever', unstarted(0, 600, 605, 610), 'failed: no server listens'],
    ['the time counts from when it is well', [...unstarted(0), ...well(100, 159)], 'next in 1s'],
  ];
  for (const [name, checks, expected, changes] of cases) {
    test(`${name}: ${expected}`, () => assert.equal(judge(checks, changes), expected));
  }
});

suite('the result of a verification', () => {
  const verification = { requests: [{ path: '/health' }], ...bounds };
  const intent = intentOf({ generation: 4, verification, rollout: 7, revision: 'r1' });
  const verdictOf = (state: VerificationResult['state']): VerificationResult => ({
    subject: subjectOf(intent),
    generation: 4,
    state,
  });
  const cases: [name: string, changes: Partial<Intent>, passed: boolean, failed: boolean][] = [
    ['nothing changed', {}, true, true],
    ['an edit that makes no difference here', { generation: 5 }, true, false],
    ['another commit', { commit: 'b'.repeat(40) }, false, false],
    ['another ref, which templates may hold', { ref: 'v1' }, false, false],
    ['another rollout', { rollout: 8 }, false, false],
    ['another revision', { revision: 'r2' }, false, false],
    ['another profile', { profile: { ...intent.profile, vars: { a: '1' } } }, false, false],
    ['other requests', { verification: { requests: [{ path: '/' }], ...bounds } }, false, false],
    ['another repository with the same commit', { repo: 'https://git.test/y' }, true, true],
  ];
  for (const [name, changes, passed, failed] of cases) {
    test(`${name}: a pass ${passed ? 'holds' : 'does not'}, a failure ${failed ? 'holds' : 'does not'}`, () => {
      const later = { ...intent, ...changes };
      assert.deepEqual([holds(verdictOf('Passed'), later), holds(verdictOf('Failed'), later)], [passed, failed]);
    });
  }
});
