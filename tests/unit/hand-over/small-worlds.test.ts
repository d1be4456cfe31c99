import { suite, test } from 'node:test';
import { FOREIGN } from './api-server.ts';
import { explore } from './explore.ts';
import { PARTS as parts } from './parts.ts';
import type { Setup } from './world.ts';

type Case = [title: string, setup: Omit<Setup, 'parts'>];

const [v1, v2] = [
  { kind: 'request', ref: 'v1' },
  { kind: 'request', ref: 'v2' },
] as const;
/** A branch that no webhook may ask for. */
const refused = { kind: 'request', ref: 'other' } as const;
/** Of another repository that has a tag of the same name. */
const foreign = { kind: 'request', ref: 'v2', repository: FOREIGN } as const;
const push = { kind: 'push', ref: 'refs/heads/dev' } as const;
const allowed = { webhook: { allowedRefs: ['v*', 'dev'] } };
const byWaves = { rollout: { waves: [{ name: 'one', gateways: 1 }] } };

/** Some twenty thousand states in all. */
const small: Case[] = [
  ['a request, while the lease moves', { agents: 0, controller: 'in steps', budget: { deliveries: [v1], lease: 1 } }],
  [
    'two receivers with a request each',
    { receivers: 2, agents: 0, controller: 'at once', budget: { deliveries: [v1, v2] } },
  ],
  [
    'a receiver with two requests that is killed',
    { agents: 0, controller: 'at once', budget: { deliveries: [v1, v2], killReceiver: 1 } },
  ],
  [
    'a request, one that is refused, and an answer that is lost',
    { agents: 0, controller: 'in steps', budget: { deliveries: [v1, refused], lose: 1 } },
  ],
  [
    'a request, one about another repository, and a receiver that is killed',
    { agents: 0, controller: 'at once', budget: { deliveries: [foreign, v1], killReceiver: 1 } },
  ],
  [
    'a push to a branch that may be followed, a request and an edit',
    { agents: 0, controller: 'at once', spec: allowed, budget: { deliveries: [v1, push], edits: ['next'] } },
  ],
  ['a request, and a gateway that lags', { controller: 'at once', budget: { deliveries: [v1] } }],
  [
    'a request by waves, and two gateways',
    { agents: 2, controller: 'at once', agent: 'at once', spec: byWaves, budget: { deliveries: [v1] } },
  ],
];

/** Some 240,000 states in all, in a few minutes: HAND_OVER_TEST=all. */
const large: Case[] = [
  ['a request, while all watches lag', { budget: { deliveries: [v1] } }],
  ['a request and an edit, while all watches lag', { budget: { deliveries: [v1], edits: ['next'] } }],
  [
    'two receivers, answers that are lost, and one that is killed',
    { receivers: 2, agents: 0, controller: 'at once', budget: { deliveries: [v1, v2], lose: 1, killReceiver: 1 } },
  ],
  [
    'a request and an edit, while the lease moves and reconciles take their time',
    { agents: 0, controller: 'slow', budget: { deliveries: [v1], edits: ['next'], lease: 1 } },
  ],
  [
    'mappings and a ref that are edited, and a gateway that lags',
    { controller: 'at once', budget: { mappings: ['b'], edits: ['next'] } },
  ],
];

const cases = process.env.HAND_OVER_TEST === 'all' ? [...small, ...large] : small;

suite('all that can happen to the hand-over', () => {
  for (const [title, setup] of cases) {
    test(title, (t) => t.diagnostic(`${explore({ ...setup, parts })} states`));
  }
});
