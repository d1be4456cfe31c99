import { suite, test } from 'node:test';
import { byDepth, sample } from '../../../support/depth.ts';
import { explore } from './explore.ts';
import type { Setup } from './model.ts';
import type { Limits } from './node.ts';

const one = { name: 'one', gateways: 1, maxConcurrent: 1 };
const two = { name: 'two', maxConcurrent: 1, soak: '1s' };
const three = { name: 'three', gateways: '50%', maxConcurrent: 2 };
/** Selected by a label, with approval. */
const canary = { name: 'canary', approval: true };
const named = [
  [true, true],
  [false, true],
  [false, false],
];
const everywhere = (count: number, waves: number) => Array.from({ length: count }, () => Array(waves).fill(true));

const plan = (waves: object[], onFailure: 'Stop' | 'Rollback' = 'Rollback', maxFailures = 0) =>
  ({ waves, onFailure, maxFailures }) as Setup['spec'];

/** With one newer commit, unless the limits say otherwise. */
type Case = [title: string, setup: Setup, limits: Limits];

const others = (waves: object[], fits: boolean[][]) => [{ spec: plan(waves), fits }];

const oneWave: Setup = { spec: plan([one]), fits: everywhere(2, 1), bad: [] };
const alone: Setup = { ...oneWave, fits: everywhere(1, 1) };
const spoiled: Setup = { ...oneWave, bad: ['A'] };
const twoWaves: Setup = { spec: plan([one, two]), fits: everywhere(3, 2), bad: [] };
const threeWaves: Setup = { spec: plan([one, two, three]), fits: everywhere(5, 3), bad: [] };
const stopping: Setup = { spec: plan([one, two], 'Stop'), fits: everywhere(3, 2), bad: ['A'] };
const canaryFirst: Setup = { spec: plan([{ name: 'canary' }]), fits: [[true], [false]], bad: [] };
const gated: Setup = { ...canaryFirst, spec: plan([canary]) };
const edited: Setup = {
  ...twoWaves,
  spec: plan([one]),
  fits: everywhere(3, 1),
  others: others([two, one], everywhere(3, 2)),
};

const soaking = [one, { name: 'two', soak: '1s' }];

/** The first wave of `A` is unchanged, and so are all of `B`, compared with `A`. */
const previewed: Setup = { ...twoWaves, spec: plan(soaking), contents: { S: '000', A: '011', B: '011' } };
const broken: Setup = { ...previewed, contents: { S: '000', A: '01x', B: '011' } };
/** The second commit can't be delivered to the last gateway. */
const worse: Setup = { ...previewed, contents: { S: '000', A: '011', B: '01x' } };
const unchanged: Setup = { ...previewed, contents: { S: '000', A: '000', B: '001' } };
const harmful: Setup = { ...previewed, bad: ['A'] };
const withApproval = (setup: Setup, onFailure?: 'Stop'): Setup => ({
  ...setup,
  spec: plan([one, { name: 'two', approval: true }], onFailure),
});
const approved = withApproval(previewed);
/** Each wave needs an approval, and has another change. */
const separate: Setup = {
  spec: plan([one, { name: 'two' }].map((wave) => ({ ...wave, approval: true }))),
  fits: everywhere(2, 2),
  bad: [],
  contents: { S: '00', A: '12', B: '21' },
};
const solo: Setup = { ...separate, fits: everywhere(1, 2), contents: { S: '0', A: '1', B: '2' } };
/** Two commits with the same changes. */
const same: Setup = { ...solo, contents: { S: '0', A: '1', B: '1' } };
const ignoring: Setup = { ...broken, spec: { ...broken.spec, previewFailures: 'Ignore', maxFailures: 1 } };
/** Previews are turned off and on. */
const switched: Setup = {
  ...previewed,
  others: [{ ...previewed, spec: { ...previewed.spec, previewTimeout: '0s' } }],
};

/** The last two of three gateways. */
const onTwo = ({ contents, ...setup }: Setup): Setup => ({
  ...setup,
  fits: setup.fits.slice(1),
  contents: Object.fromEntries(Object.entries(contents ?? {}).map(([commit, letters]) => [commit, letters.slice(1)])),
});
/** All but the last one are unchanged. */
const few: Setup = { ...previewed, contents: { S: '000', A: '001', B: '001' } };
const half = onTwo(few);

/** A few thousand states each. */
const small: Case[] = [
  ['three gateways that preview a commit', previewed, {}],
  ['two gateways, one of which reports late that it cannot have a commit', onTwo(broken), { slow: 1 }],
  ['two gateways and a commit without changes, while windows open and close', onTwo(unchanged), { gate: 1 }],
  ['two gateways that preview a commit, and one of whose agents restarts', half, { restart: 1 }],
  ['two gateways, windows, and a newer commit that cannot be delivered', onTwo(worse), { newer: 2, gate: 2 }],
  ['two gateways and a preview before the approval', withApproval(half), { approve: 1 }],
  ['two gateways, and an approval of either wave', separate, { approve: 1 }],
  ['a gateway that reports another change, and an approval', solo, { approve: 1, relabel: 1, leave: 1, join: 1 }],
  ['a gateway, an approval, and a commit that returns', same, { newer: 2, revert: 1, approve: 1 }],
  ['a gateway, an approval, and a status that is lost', solo, { newer: 2, approve: 1, wipe: 1 }],
  [
    'two gateways, an approval, and a status that is lost with its releases',
    withApproval(half),
    { approve: 1, lose: 1 },
  ],
  [
    'three gateways, a bad commit, and a status that is lost with its releases',
    { ...twoWaves, bad: ['A'] },
    { retry: 1, lose: 1 },
  ],
  ['a canary that leaves, and a status that is lost with its releases', canaryFirst, { leave: 1, join: 1, lose: 1 }],
  ['two gateways, rollbacks, and a status that is lost with its releases', oneWave, { newer: 2, rollback: 1, lose: 1 }],
  ['two gateways whose agents lag, and a newer commit', oneWave, { leave: 1, slow: 2 }],
  ['three gateways in two waves, one of which leaves', twoWaves, { leave: 1 }],
  ['three gateways, a bad commit that stops, and is tried again', stopping, { rollback: 1, retry: 1 }],
  ['two gateways, two newer commits, and people who go to any release', oneWave, { newer: 2, goTo: 2 }],
  ['a gateway, two newer commits, one of which returns, and rollbacks', alone, { newer: 2, revert: 1, rollback: 1 }],
  ['a gateway, a lost status, and rollbacks', alone, { newer: 2, wipe: 1, rollback: 1 }],
  ['a gateway, spec.rollout that is removed for a while, and rollbacks', alone, { newer: 2, remove: 1, rollback: 1 }],
  ['three gateways whose waves are edited while windows open and close', edited, { edit: 1, gate: 1 }],
  ['a canary that leaves and comes', canaryFirst, { leave: 1, join: 1 }],
  ['a canary that is paused, and goes on', canaryFirst, { rest: 2 }],
  ['three gateways, a bad commit, and a status that is lost', { ...twoWaves, bad: ['A'] }, { wipe: 2 }],
  ['three gateways, a good commit, and a status that is lost', twoWaves, { newer: 2, wipe: 1 }],
];

/**
 * Up to some hundred thousand states each, in a few minutes at most. They are limited by the number of rare
 * events per history; steps of the controller and the agents, and time, aren't limited.
 */
const large: Case[] = [
  ['two gateways, one of which reports another change, and an approval', separate, { approve: 1, relabel: 1 }],
  ['three gateways, one of which reports late that it cannot have a commit', broken, { slow: 1 }],
  ['three gateways and a commit without changes, while windows open and close', unchanged, { gate: 1 }],
  ['three gateways, a bad commit, and one that leaves their files unchanged', harmful, { newer: 2 }],
  ['three gateways that preview two commits', unchanged, { newer: 2, gate: 1 }],
  ['three gateways that preview a commit, one of which is created again', few, { leave: 1, join: 1 }],
  ['three gateways that preview a bad commit, one of whose agents restarts', harmful, { restart: 1 }],
  ['three gateways that preview late', few, { slow: 2 }],
  ['three gateways, one of whose previews is late, and of an older commit', unchanged, { newer: 2, slow: 1 }],
  ['three gateways, one of whose labels change', previewed, { relabel: 1 }],
  ['three gateways that preview, one of which is not ready for a while', previewed, { die: 1, recover: 1 }],
  [
    'three gateways, a commit that cannot be delivered, is tried again and rolled back',
    broken,
    { retry: 1, rollback: 1 },
  ],
  ['three gateways, a commit that cannot be delivered to one, and goes on', ignoring, { restart: 1 }],
  ['three gateways, approvals, and windows during previews', approved, { approve: 1, gate: 1 }],
  ['three gateways, windows, and a newer commit that cannot be delivered', worse, { newer: 2, gate: 1 }],
  [
    'two gateways, a bad commit that stops, and a newer one that cannot be delivered and waits for approval',
    { ...withApproval(onTwo(worse), 'Stop'), bad: ['A'] },
    { newer: 2, approve: 1, gate: 1 },
  ],
  ['two gateways, and approvals of two commits', onTwo(approved), { newer: 2, approve: 2 }],
  ['a gateway, a bad commit that is tried again, and approvals', { ...solo, bad: ['A'] }, { approve: 2, retry: 1 }],
  ['a gateway, approvals, and a commit that returns', same, { newer: 2, revert: 1, approve: 2, refuse: 1 }],
  ['two gateways, and approvals of both waves', separate, { approve: 2 }],
  ['two gateways, an approval of either wave, and a newer commit', separate, { newer: 2, approve: 1 }],
  ['three gateways whose previews are turned off and on', switched, { edit: 2 }],
  ['three gateways that preview, one of which is paused', previewed, { rest: 1 }],
  ['three gateways, one of which is paused, and an approval', withApproval(few), { rest: 1, approve: 1 }],
  ['two gateways, one of which is paused and goes on, and an approval', withApproval(half), { rest: 2, approve: 1 }],
  ['three gateways that preview a bad commit, one of which is paused', { ...few, bad: ['A'] }, { rest: 2 }],
  [
    'three gateways that preview while their waves are edited',
    { ...edited, contents: previewed.contents ?? {} },
    { edit: 1 },
  ],
  ['two gateways whose agents lag, a bad commit, a rollback and a retry', spoiled, { rollback: 1, retry: 1, slow: 2 }],
  [
    'two gateways, one of whose agents lags, a bad commit, a newer one and a rollback',
    spoiled,
    { newer: 2, rollback: 1, slow: 1 },
  ],
  ['three gateways in two waves that come and go', twoWaves, { leave: 1, join: 1 }],
  [
    'three gateways, each in a wave of its own, one of which is created again',
    { spec: plan([one, { name: 'second', gateways: 1 }]), fits: everywhere(3, 2), bad: [] },
    { leave: 1, join: 1 },
  ],
  ['three gateways in two waves, one of which is not ready for a while', twoWaves, { die: 1, recover: 1 }],
  ['three gateways in two waves, one of which dies, and one leaves', twoWaves, { die: 1, leave: 1 }],
  ['three gateways, a bad commit that stops, while one leaves', stopping, { rollback: 1, leave: 1 }],
  [
    'three gateways, a bad commit that stops, a newer one, a rollback and a retry',
    stopping,
    { newer: 2, rollback: 1, retry: 1 },
  ],
  ['a canary that is approved, while one leaves and is paused', gated, { leave: 1, rest: 1, approve: 1 }],
  ['three gateways whose waves are edited twice while windows close and open', edited, { edit: 2, gate: 2 }],
  ['three gateways whose waves are edited while the newest commit is unknown', edited, { edit: 1, unknown: 1 }],
  [
    'three gateways whose waves are edited while one leaves, and somebody approves',
    { spec: plan([canary, one]), fits: named, others: others([one], everywhere(3, 1)), bad: [] },
    { edit: 1, leave: 1, approve: 1 },
  ],
  [
    'three gateways, waves that are removed for a while, a bad commit and a rollback',
    { spec: plan([{ name: 'canary' }]), fits: named.map(([fit = false]) => [fit]), bad: ['A'] },
    { newer: 2, rollback: 1, remove: 1 },
  ],
  [
    'four gateways, a failure that is put up with, while one leaves',
    { spec: plan([one, three], 'Rollback', 1), fits: everywhere(4, 2), bad: ['A'] },
    { leave: 1 },
  ],
  ['five gateways in three waves, and two newer commits', threeWaves, { newer: 2 }],
  [
    'five gateways in three waves, a bad commit after a good one, and a rollback',
    { ...threeWaves, bad: ['B'] },
    { newer: 2, rollback: 1 },
  ],
  [
    'two gateways, a bad commit, a rollback, and people who go to any release',
    { ...oneWave, bad: ['B'] },
    { newer: 2, rollback: 1, goTo: 2, retry: 1 },
  ],
  [
    'a gateway, two newer commits, one of which is bad and returns, a rollback and a retry',
    { ...alone, bad: ['B'] },
    { newer: 2, revert: 1, rollback: 1, retry: 1 },
  ],
  [
    'a gateway, commits that return, and people who go to any release and retry others',
    alone,
    { newer: 2, revert: 1, goTo: 2, retry: 1 },
  ],
  [
    'a gateway, a commit that returns, a lost status, and people who go to any release',
    alone,
    { newer: 2, revert: 1, goTo: 1, wipe: 1 },
  ],
  ['a gateway, commits that return twice, and two rollbacks', alone, { newer: 2, revert: 2, rollback: 2 }],
  ['five gateways in three waves, and windows', threeWaves, { gate: 2 }],
  [
    'a canary that leaves, comes and is paused twice, while somebody approves',
    gated,
    { leave: 1, join: 1, rest: 2, approve: 1 },
  ],
  ['five gateways in three waves, one of which is created again', threeWaves, { leave: 1, join: 1 }],
];
const cases = byDepth(sample(small), small, [...small, ...large]);

suite('every possible history keeps the rules of rollouts', () => {
  for (const [title, setup, limits] of cases) {
    test(title, { timeout: 1_800_000 }, (t) => t.diagnostic(`${explore(setup, { newer: 1, ...limits })} states`));
  }
});
