import type { TestOptions } from 'node:test';
import { SLOW } from '../../scripts/test/tally.ts';

const { TEST_DEPTH: depth = 'quick', TEST_SEED = '1' } = process.env;
if (!/^(quick|full|long)$/.test(depth)) throw new Error('TEST_DEPTH is not quick, full, or long');
if (!/^\d{1,15}$/.test(TEST_SEED)) throw new Error('TEST_SEED is not a number of at most 15 digits');

/** Number with which random choices begin; the runner takes it from the commit, and prints it. */
export const SEED = Number(TEST_SEED);

/** Chooses the size of an exploration: for `npm test`, for `npm run test:all`, and for the night. */
export function byDepth<T>(quick: T, full: T, long = full): T {
  if (depth === 'quick') return quick;
  return depth === 'long' ? long : full;
}

/** Chooses some of many cases, others with each commit; at full depth, all. */
export function sample<T>(cases: readonly T[], atMostAmong = 8): readonly T[] {
  const among = Math.min(atMostAmong, cases.length);
  return byDepth(
    cases.filter((_, index) => index % among === SEED % among),
    cases,
  );
}

/** The options of a test that takes too long for `npm test`; after other reasons to skip it, which they replace. */
export const slow: TestOptions = byDepth({ skip: SLOW }, {});

/** Returns a random number from 0 to 1; those of a process follow from the seed (mulberry32). */
export const random = (() => {
  let state = SEED;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
})();
