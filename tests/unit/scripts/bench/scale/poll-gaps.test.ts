import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pollGaps } from '../../../../../scripts/bench/scale/poll-gaps.ts';

const asked = (repository: string, seconds: number, command: 'ls-refs' | 'fetch' = 'ls-refs') => ({
  repository,
  command,
  at: seconds * 1000,
});

test('gaps between polls are measured per repository, if they end within the time span', () => {
  const requests = [asked('a', 0), asked('b', 30), asked('a', 60), asked('a', 70), asked('b', 93), asked('a', 132)];
  const { gaps, overdue } = pollGaps(requests, { from: 50_000, to: 150_000, interval: 60 });
  assert.deepEqual(gaps, [60, 63, 62]);
  assert.equal(overdue, 0);
});

test("a repository is overdue if no poll came in time, and fetches don't count as polls", () => {
  const requests = [asked('a', 0), asked('b', 40), asked('a', 30, 'fetch')];
  assert.equal(pollGaps(requests, { from: 0, to: 65_000, interval: 60 }).overdue, 1);
});
