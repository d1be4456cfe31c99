import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { heapFor, memoryProblem } from '../../../../agent/plan/memory-need.ts';

const MIB = 1024 ** 2;
const load = (files: number, leaving = 0, pathLength = 31) => ({ files, pathBytes: files * pathLength, leaving });

suite('the memory that a sync needs', () => {
  // The largest heap in which a sync was seen to fail, and the smallest in which one succeeded, in MiB.
  const measured: [files: number, leaving: number, pathLength: number, fails: number, succeeds: number][] = [
    [20_000, 0, 31, 26, 32],
    [100_000, 0, 31, 84, 100],
    [100_000, 0, 108, 128, 160],
    [20_000, 20_000, 31, 48, 56],
  ];
  for (const [files, leaving, pathLength, fails, succeeds] of measured) {
    test(`of ${files} files with paths of ${pathLength} bytes, while ${leaving} leave, is what was measured`, () => {
      const mib = heapFor(load(files, leaving, pathLength)) / MIB;
      assert.ok(mib > fails && mib < succeeds * 1.1, `${mib.toFixed(1)} MiB`);
    });
  }

  test('is told by the figure to set, which suffices', () => {
    const problem = memoryProblem(load(200_000), 128 * MIB) ?? '';
    const [, limit] = /set spec\.agent\.resources\.limits\.memory to (\d+)Mi/.exec(problem) ?? [];
    assert.ok(Number(limit) > 256, problem);
    assert.equal(memoryProblem(load(200_000), (Number(limit) / 2) * MIB), undefined);
  });

  test('is no problem where the heap suffices', () => {
    assert.equal(memoryProblem(load(100_000), 128 * MIB), undefined);
  });
});
