import { suite, test } from 'node:test';
import { byDepth, sample } from '../../support/depth.ts';
import { FOREIGN } from './api-server.ts';
import { explore } from './explore.ts';
import { PARTS as parts } from './parts.ts';
import { commit, type Setup } from './world.ts';

type Case = [title: string, setup: Omit<Setup, 'parts'>];

const [v1, v2] = [
  { kind: 'request', ref: 'v1' },
  { kind: 'request', ref: 'v2' },
] as const;
/** A branch that webhooks can't request. */
const refused = { kind: 'request', ref: 'other' } as const;
/** A request about another repository that has a tag of the same name. */
const foreign = { kind: 'request', ref: 'v2', repository: FOREIGN } as const;
const push = { kind: 'push', ref: 'refs/heads/dev' } as const;
const allowed = { webhook: { allowedRefs: ['v*', 'dev'] } };
const byWaves = { rollout: { waves: [{ name: 'one', gateways: 1 }], previewTimeout: '0s' } };

/** A range, and a tag that appears and vanishes. */
const ranged = {
  agents: 0,
  spec: { git: { repo: 'https://git.test/app.git', semver: '~1.4' } },
  refs: { 'refs/tags/v1.4.0': commit('1'), 'refs/tags/v2.0.0': commit('2') },
};
const released = ['refs/tags/v1.4.1', commit('3')] as const;
const vanished = ['refs/tags/v1.4.1'] as const;
const release = { kind: 'request', ref: 'v1.4.1' } as const;

/** About twenty thousand states in total. */
const small: Case[] = [
  ['a request and a moving Lease', { agents: 0, controller: 'in steps', budget: { deliveries: [v1], lease: 1 } }],
  [
    'two receivers with a request each',
    { receivers: 2, agents: 0, controller: 'at once', budget: { deliveries: [v1, v2] } },
  ],
  [
    'a killed receiver with two requests',
    { agents: 0, controller: 'at once', budget: { deliveries: [v1, v2], killReceiver: 1 } },
  ],
  [
    'a request, a rejected request, and a lost response',
    { agents: 0, controller: 'in steps', budget: { deliveries: [v1, refused], lose: 1 } },
  ],
  [
    'a request, one about another repository, and a killed receiver',
    { agents: 0, controller: 'at once', budget: { deliveries: [foreign, v1], killReceiver: 1 } },
  ],
  [
    'a push to an allowed branch, a request, and an edit',
    { agents: 0, controller: 'at once', spec: allowed, budget: { deliveries: [v1, push], edits: ['next'] } },
  ],
  ['a request and a delayed gateway', { controller: 'at once', budget: { deliveries: [v1] } }],
  [
    'a request in waves and two gateways',
    { agents: 2, controller: 'at once', agent: 'at once', spec: byWaves, budget: { deliveries: [v1] } },
  ],
  [
    'a range, a request for a tag that appears and vanishes, and a wiped status',
    {
      ...ranged,
      controller: 'at once',
      budget: { deliveries: [release], pushes: [released, vanished], wipe: 1, minute: 1 },
    },
  ],
];

/** About 240,000 states in total, which take a few minutes. */
const large: Case[] = [
  ['a request and delayed watches', { budget: { deliveries: [v1] } }],
  ['a request, an edit, and delayed watches', { budget: { deliveries: [v1], edits: ['next'] } }],
  [
    'two receivers, lost responses, and a killed receiver',
    { receivers: 2, agents: 0, controller: 'at once', budget: { deliveries: [v1, v2], lose: 1, killReceiver: 1 } },
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
    {
      ...ranged,
      controller: 'slow',
      budget: { pushes: [released, vanished], edits: ['<1.4.1'] },
    },
  ],
];

const cases = byDepth(sample(small), small, [...small, ...large]);

suite('all reachable states of the hand-over', () => {
  for (const [title, setup] of cases) {
    test(`keep all invariants with ${title}`, (t) => t.diagnostic(`${explore({ ...setup, parts })} states`));
  }
});
