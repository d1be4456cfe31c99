import { test } from 'node:test';
import { byDepth } from '../../../support/depth.ts';
import { fc } from '../../../support/property.ts';
import type { Setup } from './model.ts';
import { comesToRest, firstNode, movesOf } from './possible-moves.ts';
import { checkWaits } from './rules.ts';

const RUNS = byDepth(40, 400, 100_000);
const MOVES = 60;

const amount = fc.constantFrom<undefined | number | string>(undefined, 1, 2, '10%', '50%', '100%');
const wave = fc.record({
  approval: fc.constantFrom(undefined, undefined, true),
  gateways: amount,
  maxConcurrent: amount,
  soak: fc.constantFrom(undefined, '1s'),
});

/** Contents of twelve gateways, most of which don't change. */
const content = fc.string({ unit: fc.constantFrom('0', '0', '0', '1', '2', 'x'), minLength: 12, maxLength: 12 });
const previews = fc.record({
  contents: fc.record({ S: fc.constant('0'.repeat(12)), A: content, B: content }),
});

/** Mostly the usual size. */
const sized = <T>(usual: fc.Arbitrary<T>, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: usual }, { weight: 1, arbitrary: other });

const setups: fc.Arbitrary<Setup> = fc
  .record({
    waves: sized(fc.array(wave, { minLength: 3, maxLength: 3 }), fc.array(wave, { maxLength: 4 })),
    gateways: sized(fc.constant(5), fc.integer({ min: 0, max: 12 })),
    labels: fc.array(fc.boolean(), { minLength: 48, maxLength: 48 }),
    onFailure: fc.constantFrom('Stop' as const, 'Rollback' as const),
    maxFailures: fc.integer({ min: 0, max: 3 }),
    bad: fc.subarray<'A' | 'B'>(['A', 'B']),
    previews: fc.option(previews, { nil: undefined }),
  })
  .map(({ waves, gateways, labels, onFailure, maxFailures, bad, previews: contents }) => {
    const named = waves.map((fields, index) => ({ name: `w${index}`, ...fields }));
    const fits = Array.from({ length: gateways }, (_, gateway) =>
      named.map((_, at) => labels[at * 12 + gateway] === true),
    );
    return { spec: { waves: named, onFailure, maxFailures } as Setup['spec'], fits, bad, ...contents };
  });

const limits = {
  newer: 2,
  rollback: 2,
  retry: 2,
  leave: 3,
  join: 3,
  die: 1,
  slow: 12,
  recover: 1,
  edit: 2,
  gate: 3,
  rest: 3,
  relabel: 2,
  restart: 2,
  approve: 2,
  unknown: 1,
  remove: 1,
  lose: 1,
};

test('long random histories of rollouts keep the rules, and come to rest', { timeout: 1_800_000 }, () => {
  const choices = fc.array(fc.nat(), { minLength: MOVES, maxLength: MOVES });
  const property = fc.property(setups, choices, (setup, chosen) => {
    let node = firstNode(setup, limits);
    let controlled: typeof node | undefined;
    for (const choice of chosen) {
      const moves = movesOf(node, setup);
      // The controller has more turns than the others, as in reality. A second one changes nothing.
      const [name, take] = moves[choice % 3 === 0 ? 0 : choice % moves.length] as (typeof moves)[number];
      if (name === 'control' && node === controlled) continue;
      node = take();
      if (name !== 'control') continue;
      checkWaits(node.world, setup);
      controlled = node;
    }
    comesToRest(node, setup, new Set());
  });
  fc.assert(property, { numRuns: RUNS });
});
