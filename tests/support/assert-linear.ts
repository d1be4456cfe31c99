import assert from 'node:assert/strict';

/** Maximum ratio of times for four times the size: 4 is linear, 16 quadratic; the rest is for a busy machine. */
const MOST = 9;
const ATTEMPTS = 20;

/**
 * Asserts that the time of `run` grows with the size, not with its square. It compares ratios,
 * because times differ between machines, and one good attempt of several is enough. `make` prepares the part that is not
 * measured.
 */
export function assertLinear<TInput>(size: number, make: (size: number) => TInput, run: (input: TInput) => void): void {
  const small = make(size);
  const large = make(4 * size);
  run(small);
  const rounds = roundsOf(() => run(small));
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && best >= MOST; attempt += 1) {
    const once = fastest(rounds, () => run(small));
    best = Math.min(best, fastest(rounds, () => run(large)) / once);
  }
  assert.ok(best < MOST, `four times the size takes ${best.toFixed(1)} times as long`);
}

/** Enough runs for a few milliseconds, so that the resolution of the clock and the compiler matter little. */
function roundsOf(run: () => void): number {
  const started = performance.now();
  let rounds = 0;
  while (rounds < 3 || (performance.now() - started < 5 && rounds < 1_000)) {
    run();
    rounds += 1;
  }
  return rounds;
}

function fastest(rounds: number, run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    run();
    best = Math.min(best, performance.now() - started);
  }
  return best;
}
