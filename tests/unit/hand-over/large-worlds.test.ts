import { suite, test } from 'node:test';
import { byDepth } from '../../support/depth.ts';
import { fc } from '../../support/property.ts';
import { follow } from './explore.ts';
import { PARTS as parts } from './parts.ts';
import { byWaves, ranged } from './setups.ts';
import { commit, type Setup } from './world.ts';

/** The long ones take some minutes each. */
const RUNS = byDepth(6, 60, 10_000);
const MOVES = 70;

const deliveries = [
  { kind: 'request', ref: 'v1' },
  { kind: 'request', ref: 'v2' },
  { kind: 'push', ref: 'refs/heads/dev' },
  { kind: 'request', ref: 'other' },
  { kind: 'push', ref: 'refs/heads/main' },
  { kind: 'request', ref: 'v9' },
] as const;
const webhook = { allowedRefs: ['v*', 'dev'] };
const pushes = [
  ['refs/heads/main', commit('d')],
  ['refs/tags/v9', commit('9')],
] as const;

/** Tags that appear and move. */
const releases = [
  ['refs/tags/v1.4.1', commit('3')],
  ['refs/tags/v1.4.1', commit('4')],
  ['refs/tags/v1.3.9', commit('5')],
] as const;
/** Tags that also vanish. */
const vanishing = [...releases, ['refs/tags/v1.4.1'], ['refs/tags/v1.4.0'], ['refs/tags/v1.4.2', commit('6')]] as const;
const released = [
  { kind: 'request', ref: 'v1.4.1' },
  { kind: 'request', ref: 'v1.3.9' },
  { kind: 'request', ref: 'v1.4.2' },
  { kind: 'push', ref: 'refs/heads/main' },
] as const;

const worlds: [title: string, setup: Omit<Setup, 'parts'>][] = [
  ['requests, pushes, and lost patches and responses', { budget: { lose: 2, killReceiver: 2, killAgent: 1 } }],
  ['a moving Lease and slow reconciles', { controller: 'slow', budget: { lease: 2, lose: 1 } }],
  [
    'edits, pauses, and a wiped status',
    { budget: { pause: 2, wipe: 1, mappings: ['b'], edits: ['next', 'refs/heads/dev'] } },
  ],
  [
    'an unavailable git server that shows a tag late',
    { budget: { host: 2, pushes, minute: 1, impatient: 1, lose: 1 } },
  ],
  [
    'waves, edits, pauses, and a moving Lease',
    { agents: 2, controller: 'slow', spec: byWaves, budget: { mappings: ['b'], lease: 2, lose: 1, pause: 2 } },
  ],
  [
    'a range, a moving Lease, and lost patches',
    { ...ranged, controller: 'slow', budget: { pushes: releases, deliveries: released, edits: [], lease: 2, lose: 2 } },
  ],
  [
    'a range, edits, a wiped status, and an unavailable git server',
    {
      ...ranged,
      budget: { pushes: vanishing, deliveries: released, edits: ['*', '~1.4'], wipe: 1, host: 2, minute: 2 },
    },
  ],
  [
    'a range, tags that vanish, a moving Lease, and lost patches',
    {
      ...ranged,
      controller: 'slow',
      budget: { pushes: vanishing, deliveries: released, edits: [], lease: 2, lose: 2 },
    },
  ],
];

suite('long histories of the hand-over', () => {
  for (const [title, setup] of worlds) {
    test(`keep all invariants with ${title}`, () => {
      const { spec, budget, ...rest } = setup;
      const full: Setup = {
        receivers: 2,
        controller: 'in steps',
        ...rest,
        parts,
        spec: { webhook, ...spec },
        budget: { edits: ['next'], deliveries, ...budget },
      };
      const choices = fc.array(fc.nat(1_000_000), { minLength: MOVES / 2, maxLength: MOVES });
      fc.assert(
        fc.property(choices, (chosen) => follow(full, chosen)),
        { numRuns: RUNS },
      );
    });
  }
});
