import { suite, test } from 'node:test';
import { explore } from './explore.ts';
import type { Setup } from './model.ts';
import type { Limits } from './possible-moves.ts';

const one = { name: 'one', gateways: 1, maxConcurrent: 1 };
const two = { name: 'two', maxConcurrent: 1, soak: '1s' };
const three = { name: 'three', gateways: '50%', maxConcurrent: 2 };
/** By a label, and only when somebody says so. */
const canary = { name: 'canary', approval: true };
const named = [
  [true, true],
  [false, true],
  [false, false],
];
const everywhere = (count: number, waves: number) => Array.from({ length: count }, () => Array(waves).fill(true));

const plan = (waves: object[], onFailure: 'Stop' | 'Rollback' = 'Rollback', maxFailures = 0) =>
  ({ waves, onFailure, maxFailures }) as Setup['spec'];

type Case = [title: string, setup: Setup, limits: Limits];

const others = (waves: object[], fits: boolean[][]) => [{ spec: plan(waves), fits }];

/** Some ten thousand states. */
const small: Case[] = [
  [
    'two gateways whose agents lag, and a newer commit',
    { spec: plan([one]), fits: everywhere(2, 1), bad: [] },
    { newer: 1, leave: 1, slow: 2 },
  ],
  [
    'three gateways in two waves that come and go',
    { spec: plan([one, two]), fits: everywhere(3, 2), bad: [] },
    { newer: 1, leave: 1, join: 1 },
  ],
  [
    'three gateways, a bad commit that stops, and is tried again',
    { spec: plan([one, two], 'Stop'), fits: everywhere(3, 2), bad: ['A'] },
    { newer: 1, rollback: 1, retry: 1 },
  ],
  [
    'three gateways whose waves are edited while windows open and close',
    { spec: plan([one]), fits: everywhere(3, 1), others: others([two, one], everywhere(3, 2)), bad: [] },
    { newer: 1, edit: 1, gate: 1 },
  ],
  [
    'a canary that leaves, comes and is paused',
    { spec: plan([{ name: 'canary' }]), fits: [[true], [false]], bad: [] },
    { newer: 1, leave: 1, join: 1, rest: 1 },
  ],
];

/** Some millions, in half an hour, with a few GiB: ROLLOUT_TEST=all. */
const large: Case[] = [
  [
    'two gateways whose agents lag, a bad commit, a newer one, a rollback and a retry',
    { spec: plan([one]), fits: everywhere(2, 1), bad: ['A'] },
    { newer: 2, rollback: 1, retry: 1, slow: 2 },
  ],
  [
    'three gateways in two waves that come and go, and die',
    { spec: plan([one, two]), fits: everywhere(3, 2), bad: [] },
    { newer: 1, leave: 1, join: 1, die: 1 },
  ],
  [
    'three gateways, a bad commit that stops, while one leaves and one comes',
    { spec: plan([one, two], 'Stop'), fits: everywhere(3, 2), bad: ['A'] },
    { newer: 2, rollback: 1, retry: 1, leave: 1, join: 1 },
  ],
  [
    'a canary that leaves, comes and is paused, while somebody approves',
    { spec: plan([canary]), fits: [[true], [false]], bad: [] },
    { newer: 1, leave: 1, join: 1, rest: 2, approve: 1 },
  ],
  [
    'three gateways whose waves are edited twice while windows close and open, and nobody knows what is newest',
    { spec: plan([one]), fits: everywhere(3, 1), others: others([two, one], everywhere(3, 2)), bad: [] },
    { newer: 1, edit: 2, gate: 2, unknown: 1 },
  ],
  [
    'three gateways whose waves are edited while they come, go and are paused',
    { spec: plan([canary, one]), fits: named, others: others([one], everywhere(3, 1)), bad: [] },
    { newer: 1, edit: 1, leave: 1, join: 1, rest: 1, approve: 1 },
  ],
  [
    'three gateways, waves that are edited or removed for a while, a bad commit and a rollback',
    {
      spec: plan([{ name: 'canary' }]),
      fits: [[true], [false], [false]],
      others: others([], everywhere(3, 0)),
      bad: ['A'],
    },
    { newer: 2, edit: 1, rollback: 1, remove: 1 },
  ],
  [
    'four gateways, a failure that is put up with',
    { spec: plan([one, three], 'Rollback', 1), fits: everywhere(4, 2), bad: ['A'] },
    { newer: 2, rollback: 1, join: 1, leave: 1 },
  ],
  [
    'five gateways in three waves, and two newer commits',
    { spec: plan([one, two, three]), fits: everywhere(5, 3), bad: [] },
    { newer: 2 },
  ],
  [
    'five gateways in three waves, a bad commit after a good one, a rollback and a retry',
    { spec: plan([one, two, three]), fits: everywhere(5, 3), bad: ['B'] },
    { newer: 2, rollback: 1, retry: 1 },
  ],
];
const cases = process.env.ROLLOUT_TEST === 'all' ? [...small, ...large] : small;

suite('all that can happen to a rollout', () => {
  for (const [title, setup, limits] of cases) {
    test(title, (t) => t.diagnostic(`${explore(setup, limits)} states`));
  }
});
