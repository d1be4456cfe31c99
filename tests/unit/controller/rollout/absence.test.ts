import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ALL } from '../../../../shared/domain/rollout/waves.ts';
import { fitting } from './fleet.ts';
import { History } from './history.ts';
import { type Agent, DEADLINE_MS, type Setup } from './model.ts';

/** A canary and two others, unless specified. */
const historyOf = (more: object = {}, fits = [[true], [false], [false]]): History => {
  const setup: Setup = { spec: { waves: [{ name: 'canary' }], ...more }, fits, bad: ['B'] };
  return new History(setup);
};
const gone: Partial<Agent> = { createdAt: undefined, report: undefined, seen: undefined, aim: undefined };
const threeCanaries = [[true], [true], [true]];
const oneCanary = { waves: [{ name: 'canary', gateways: 1 }] };

test('a canary that is deleted during its wave holds the commit back until another one is verified', () => {
  const history = historyOf().begin().agent(gone, 0).control();
  assert.deepEqual([history.rollout.phase, history.rollout.wave, history.admitted[1]], ['Progressing', 'canary', '']);
  history.later(9 * DEADLINE_MS).control();
  assert.equal(history.rollout.phase, 'Progressing');
  history.agent({ createdAt: history.world.now }, 0).control();
  assert.equal(history.rollout.phase, 'Progressing');
  assert.deepEqual(history.sync(0).control().admitted, [ALL, ALL]);
});

test('a canary that is absent when the commit comes is waited for', () => {
  const history = historyOf().control().agent(gone, 0).control().control({ wanted: 'A' });
  assert.deepEqual(history.admitted, ['', '']);
});

test('a fleet without gateways waits for one, and continues when there is one', () => {
  const history = historyOf()
    .begin()
    .agent(gone, 0, 1, 2)
    .later(9 * DEADLINE_MS)
    .control();
  assert.deepEqual([history.rollout.phase, history.rollout.stableCommit], ['Progressing', 'S']);
  history.agent({ createdAt: history.world.now }, 0, 1, 2).control().sync(0).control().sync(1, 2).control();
  assert.equal(history.rollout.phase, 'Complete');
});

test('a fleet that never had a gateway waits for none', () => {
  assert.equal(historyOf().agent(gone, 0, 1, 2).begin().rollout.phase, 'Complete');
});

test('the last wave needs no gateway if it had none for the length of the deadline, and others are healthy', () => {
  const history = historyOf().begin().agent(gone, 1, 2).sync(0).control();
  assert.deepEqual([history.rollout.phase, history.rollout.waitsFor], ['Progressing', 'Gateways']);
  history.later(DEADLINE_MS).control();
  assert.deepEqual([history.rollout.phase, history.rollout.stableCommit], ['Complete', 'A']);
});

for (const when of ['before the rollout', 'in mid-wave']) {
  test(`a last wave whose gateway took the place of one that left ${when} isn't waited for`, () => {
    const waves = [...oneCanary.waves, { name: 'second', gateways: 1 }];
    const history = historyOf({ waves }, fitting('11', '11', '11')).control();
    if (when === 'in mid-wave') history.begin().agent(gone, 0);
    else history.agent(gone, 0).begin();
    for (const index of [1, 2]) history.control().sync(index).control();
    history.agent({ createdAt: history.world.now }, 0).control().sync(0).control();
    assert.deepEqual([history.rollout.phase, history.rollout.stableCommit], ['Complete', 'A']);
  });
}

test('a last wave that lost one of two gateways to another wave waits for the other', () => {
  const history = historyOf(oneCanary, threeCanaries).begin().syncInTurn(0, 1, 2);
  history.agent(gone, 0, 2).begin('C').sync(1).control();
  assert.deepEqual([history.rollout.phase, history.rollout.waitsFor], ['Progressing', 'Gateways']);
});

for (const [how, change] of [
  ['are created again', gone],
  ['are paused', { isPaused: true }],
] as const) {
  test(`a last wave whose gateways all ${how} during the wave isn't complete because of that`, () => {
    const waves = [{ name: 'canary' }, { name: 'all', maxConcurrent: 1 }];
    const history = historyOf({ waves }, fitting('10', '01', '01'))
      .begin()
      .sync(0)
      .control();
    history
      .agent(change, 1, 2)
      .control({ isOpen: false })
      .later(9 * DEADLINE_MS)
      .control();
    assert.deepEqual([history.rollout.phase, history.rollout.stableCommit], ['Progressing', 'S']);
    assert.deepEqual([history.rollout.waitsFor, history.admitted[1]], ['Gateways', '10']);
  });
}

test('a wave that has a gateway for a moment before its turn needs one', () => {
  const waves = [{ name: 'canary' }, { name: 'east' }];
  for (const [comes, wave] of [
    [false, 'rest'],
    [true, 'east'],
  ] as const) {
    const history = historyOf({ waves }, fitting('10', '01', '00'))
      .agent(gone, 1)
      .begin();
    if (comes) history.agent({ createdAt: history.world.now }, 1).control();
    assert.equal(history.agent(gone, 1).sync(0).control().rollout.wave, wave);
  }
});

test('unready gateways are admitted when the others have the commit', () => {
  const history = historyOf({ waves: [{ name: 'all', maxConcurrent: 1 }] }, threeCanaries).begin();
  history.agent({ isPaused: true }, 1, 2).control();
  assert.equal(history.admitted[0], '00');
  assert.equal(history.sync(0).control().rollout.phase, 'Complete');
});

test('a percentage applies to gateways that count, and to others when they are gone', () => {
  const history = historyOf(oneCanary, threeCanaries).agent({ isPaused: true }, 0).begin();
  const members = history.rollout.admission.map((wave) => wave.members);
  assert.deepEqual(members, ['10', ALL]);
  const { admission } = history.agent(gone, 1).control().rollout;
  const chosenAgain = { wave: 'canary', members: '20', of: 1, admitted: ALL, gateways: 1, isChosenAgain: true };
  assert.deepEqual([admission[0], admission[1]?.admitted], [chosenAgain, '']);
});

test('replacements are admitted only once a window is open', () => {
  const { rollout } = historyOf(oneCanary, threeCanaries).begin().agent(gone, 0).control({ isOpen: false });
  const chosenAgain = { wave: 'canary', members: '10', of: 2, admitted: '00', gateways: 1, isChosenAgain: true };
  assert.deepEqual(rollout.admission[0], chosenAgain);
});

test('the replacement of a canary has to be healthy', () => {
  const history = historyOf({}, [[true], [true], [false]])
    .begin()
    .sync(0)
    .control();
  const createdAt = history.world.now + 10;
  history.agent({ createdAt, notReadySince: createdAt, report: undefined, seen: undefined }, 1).later(20).control();
  assert.equal(history.rollout.wave, 'canary');
  assert.equal(history.later(2 * DEADLINE_MS).control().rollout.phase, 'Stopped');
});

test('an additional gateway that never starts delays no other', () => {
  const history = historyOf({}, [[true], [true], [true], [false]])
    .agent(gone, 2)
    .begin();
  const createdAt = history.world.now + 10;
  history.agent({ createdAt, notReadySince: createdAt }, 2).later(20).sync(0, 1).control();
  assert.equal(history.rollout.wave, 'rest');
});

test("a wave on which the commit failed everywhere isn't complete, whatever maxFailures is", () => {
  const history = historyOf({ maxFailures: 5 }).begin('B').sync(0).control();
  assert.deepEqual([history.rollout.phase, history.admitted[1]], ['Stopped', '']);
});

test("a gateway that wasn't ready before isn't verified, whatever its agent reports", () => {
  const history = historyOf().agent({ notReadySince: 0 }, 0).begin().sync(0).control();
  assert.deepEqual([history.rollout.wave, history.rollout.verified], ['canary', 0]);
  assert.equal(history.agent({ notReadySince: undefined }, 0).control().rollout.wave, 'rest');
});

test('a canary that dies while the next wave waits is waited for again, and fails at the deadline', () => {
  const waves = [{ name: 'canary' }, { name: 'next', approval: true }];
  const history = historyOf({ waves }, fitting('10', '01')).begin().sync(0).control();
  assert.equal(history.rollout.phase, 'AwaitingApproval');
  history.later(5 * DEADLINE_MS);
  history
    .agent({ notReadySince: history.world.now - 1 }, 0)
    .control()
    .approve();
  assert.deepEqual([history.rollout.phase, history.admitted[1]], ['Progressing', '']);
  assert.match(history.message, / g0 .* canary\b/);
  const well = history.fork().agent({ notReadySince: undefined }, 0).control();
  assert.deepEqual([well.rollout.wave, well.admitted[1]], ['next', ALL]);
  assert.equal(history.later(DEADLINE_MS).control().rollout.phase, 'Stopped');
});
