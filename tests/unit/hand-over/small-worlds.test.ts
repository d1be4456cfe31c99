import { suite, test } from 'node:test';
import { byDepth, sample } from '../../support/depth.ts';
import { explore } from './explore.ts';
import { PARTS as parts } from './parts.ts';
import { atOnce, byWaves, foreign, inSteps, ranged, v1, v2 } from './setups.ts';
import { commit, type Setup } from './world.ts';

type Case = [title: string, setup: Omit<Setup, 'parts'>];

/** A branch that webhooks can't request. */
const refused = { kind: 'request', ref: 'other' } as const;
const push = { kind: 'push', ref: 'refs/heads/dev' } as const;
const allowed = { webhook: { allowedRefs: ['v*', 'dev'] } };

/** A tag in a range that appears and vanishes. */
const released = ['refs/tags/v1.4.1', commit('3')] as const;
const vanished = ['refs/tags/v1.4.1'] as const;
const release = { kind: 'request', ref: 'v1.4.1' } as const;

/** About twenty thousand states in total. */
const small: Case[] = [
  ['a request and a moving Lease', { ...inSteps, budget: { deliveries: [v1], lease: 1 } }],
  ['two receivers with a request each', { ...atOnce, receivers: 2, budget: { deliveries: [v1, v2] } }],
  ['a killed receiver with two requests', { ...atOnce, budget: { deliveries: [v1, v2], killReceiver: 1 } }],
  [
    'a request, a rejected request, and a lost response',
    { ...inSteps, budget: { deliveries: [v1, refused], lose: 1 } },
  ],
  [
    'a request, one about another repository, and a killed receiver',
    { ...atOnce, budget: { deliveries: [foreign, v1], killReceiver: 1 } },
  ],
  [
    'a push to an allowed branch, a request, and an edit',
    { ...atOnce, spec: allowed, budget: { deliveries: [v1, push], edits: ['next'] } },
  ],
  ['a request and a delayed gateway', { controller: 'at once', budget: { deliveries: [v1] } }],
  [
    'a request in waves and two gateways',
    { agents: 2, controller: 'at once', agent: 'at once', spec: byWaves, budget: { deliveries: [v1] } },
  ],
  [
    'a range, a request for a tag that appears and vanishes, and a wiped status',
    { ...ranged, ...atOnce, budget: { deliveries: [release], pushes: [released, vanished], wipe: 1, minute: 1 } },
  ],
];

/** About 240,000 states in total, which take a few minutes. */
const large: Case[] = [
  ['a request and delayed watches', { budget: { deliveries: [v1] } }],
  ['a request, an edit, and delayed watches', { budget: { deliveries: [v1], edits: ['next'] } }],
  [
    'two receivers, lost responses, and a killed receiver',
    { ...atOnce, receivers: 2, budget: { deliveries: [v1, v2], lose: 1, killReceiver: 1 } },
  ],
  [
    'a request, an edit, a moving Lease, and slow reconciles',
    { agents: 0, controller: 'slow', budget: { deliveries: [v1], edits: ['next'], lease: 1 } },
  ],
  [
    'edited mappings, an edited ref, and a delayed gateway',
    { controller: 'at once', budget: { mappings: ['b'], edits: ['next'] } },
  ],
  [
    'a range, a tag that vanishes, an edit, and slow reconciles',
    { ...ranged, agents: 0, controller: 'slow', budget: { pushes: [released, vanished], edits: ['<1.4.1'] } },
  ],
];

const cases = byDepth(sample(small), small, [...small, ...large]);

suite('all reachable states of the hand-over', () => {
  for (const [title, setup] of cases) {
    test(`keep all invariants with ${title}`, (t) => t.diagnostic(`${explore({ ...setup, parts })} states`));
  }
});
