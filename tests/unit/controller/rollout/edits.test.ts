import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { amountOf, makeAdmission } from '../../../../controller/rollout/admission.ts';
import { fitting } from './fleet.ts';
import { History } from './history.ts';
import { DEADLINE_MS, type Plan, type World } from './model.ts';

const canary: Plan = { spec: { waves: [{ name: 'canary' }] }, fits: [[true], [false], [false]] };
const pilot: Plan = { ...canary, spec: { waves: [{ name: 'pilot' }] } };
const approved: Plan = { ...canary, spec: { waves: [{ name: 'pilot', approval: true }] } };
const inserted: Plan = {
  spec: { waves: [{ name: 'pilot' }, { name: 'canary' }] },
  fits: fitting('01', '10', '00'),
};
const none: Plan = { spec: {}, fits: [[], [], []] };

/** A rollout whose waves can be edited. */
const historyOf = (other: Plan, more: object = {}): History =>
  new History({
    ...canary,
    spec: { ...canary.spec, ...more },
    others: [{ ...other, spec: { ...other.spec, ...more } }],
    bad: ['B'],
  });

/** Edits the waves, and reconciles twice, because the result may depend on the earlier write. */
const edit = (history: History, change: Partial<World> = {}): History =>
  history
    .control({ plan: 1, ...change })
    .later(10)
    .control();

suite('an edit of the waves admits no gateway', () => {
  const cases: [title: string, plan: Plan, change: Partial<World>, phase: string][] = [
    ['in a freeze, if the wave has another name', pilot, { isOpen: false }, 'AwaitingWindow'],
    ['in a freeze, if there is one more before', inserted, { isOpen: false }, 'AwaitingWindow'],
    ['in a freeze, if there are no more waves', none, { isOpen: false }, 'AwaitingWindow'],
    ['if the first one waits for approval', approved, {}, 'AwaitingApproval'],
    ['in a freeze, if another commit waits', pilot, { isOpen: false, wanted: 'C' }, 'Progressing'],
  ];
  for (const [title, plan, change, phase] of cases) {
    test(title, () => {
      const { rollout, admitted } = edit(historyOf(plan).begin(), change);
      assert.deepEqual([rollout.phase, admitted.join('')], [phase, '']);
    });
  }

  test('and needs no other approval of the same release', () => {
    const history = edit(historyOf(approved).begin()).approve();
    const again = edit(edit(history, { plan: 0 }));
    assert.deepEqual([again.rollout.phase, again.rollout.wave], ['Progressing', 'pilot']);
  });

  test('while the newest commit is unknown, the first wave begins again', () => {
    const { rollout, admitted } = edit(historyOf(pilot).begin(), { wanted: undefined });
    assert.deepEqual([rollout.phase, rollout.wave, admitted[1]], ['Progressing', 'pilot', '']);
  });

  test('a stopped rollout stays stopped after an edit', () => {
    const { rollout, admitted } = edit(historyOf(pilot).begin('B').sync(0).control());
    assert.deepEqual([rollout.phase, admitted], ['Stopped', ['', '']]);
  });

  test('a complete commit stays complete after an edit, and all gateways keep it', () => {
    const history = historyOf(pilot).begin().syncInTurn(0, 1, 2);
    const before = history.world;
    assert.equal(before.state?.phase, 'Complete');
    const { rollout, admitted, world } = edit(history);
    assert.deepEqual([rollout.phase, rollout.plan, admitted], ['Complete', 'p1', ['all', 'all']]);
    assert.deepEqual(
      rollout.admission.map(({ wave, gateways }) => `${wave} ${gateways}`),
      ['pilot 1', 'rest 2'],
    );
    assert.deepEqual(world.releases, before.releases);
  });

  test('a wave of the same name remembers that it had gateways', () => {
    const history = historyOf({ ...canary, spec: { waves: [{ name: 'canary', gateways: '100%' }] } });
    assert.deepEqual(edit(history.begin().agent({ createdAt: undefined }, 0)).admitted, ['', '']);
  });
});

suite('the waves of a spec', () => {
  const gateways = ['3', '1', '2', '4'].map((key) => ({
    name: `g${key}`,
    key,
    fits: [key !== '4'],
    createdAt: 0,
    notReadySince: undefined,
    isPaused: key === '1',
    report: undefined,
  }));
  const canaryOf = (amount?: number | string) => ({
    waves: [{ name: 'canary', ...(amount !== undefined && { gateways: amount }) }],
  });

  test('contain a number or a percentage, rounded up, of all gateways', () => {
    const amounts: [amount: number | string, of: number, gateways: number][] = [
      [1, 5, 1],
      [9, 5, 5],
      ['10%', 5, 1],
      ['50%', 5, 3],
      ['100%', 5, 5],
      ['34%', 3, 2],
      [2, 0, 0],
      ['50%', 0, 0],
    ];
    for (const [amount, total, expected] of amounts)
      assert.equal(amountOf(amount, total), expected, `${amount} of ${total}`);
  });

  test('contain the first gateways in the order of their keys, and record whether they have any', () => {
    const admit = (amount?: number | string) => makeAdmission(canaryOf(amount), gateways, { admitted: '' });
    const rest = { wave: 'rest', members: 'all', admitted: '', gateways: 1 };
    const own = { wave: 'canary', admitted: '', gateways: 1 };
    assert.deepEqual(admit(), [{ ...own, members: 'all' }, rest]);
    assert.deepEqual(admit(1), [{ ...own, members: '2', of: 2 }, rest]);
    assert.deepEqual(admit('100%'), [{ ...own, members: '3', of: 2 }, rest]);
    const [unpeopled] = makeAdmission(canaryOf(1), [], { admitted: 'all' });
    assert.deepEqual(unpeopled, { wave: 'canary', members: '', admitted: 'all' });
  });

  test('keep their state by their names', () => {
    const before = [
      { wave: 'canary', members: '9', admitted: 'all', of: 8, gateways: 7 },
      { wave: 'rest', members: 'all', admitted: 'all', gateways: 3 },
    ];
    const again = makeAdmission(canaryOf(1), [], { admitted: '', before });
    assert.deepEqual(again, [
      { wave: 'canary', members: '', of: 8, admitted: '', gateways: 7 },
      { wave: 'rest', members: 'all', admitted: '', gateways: 3 },
    ]);
    const renamed = makeAdmission({ waves: [{ name: 'pilot' }] }, [], { admitted: '', before });
    assert.deepEqual(renamed, [
      { wave: 'pilot', members: 'all', admitted: '', gateways: 0 },
      { wave: 'rest', members: 'all', admitted: '', gateways: 3 },
    ]);
    const [first] = makeAdmission({ waves: [{ name: 'pilot' }] }, [], { admitted: '', before: [] });
    assert.deepEqual(first, { wave: 'pilot', members: 'all', admitted: '' });
    const lost = makeAdmission({}, [], { admitted: '', before: before.slice(0, 1) });
    assert.deepEqual(lost, [{ wave: 'rest', members: 'all', admitted: '', gateways: 1 }]);
  });

  test('with a percentage admit none while fewer than half of the original gateways exist', () => {
    const before = (total: number) => [{ wave: 'canary', members: '9', admitted: '', of: total, gateways: 1 }];
    const membersOf = (total: number) =>
      makeAdmission(canaryOf(1), gateways, { admitted: '', before: before(total) })[0];
    assert.deepEqual([membersOf(4)?.members, membersOf(4)?.of], ['2', 2]);
    assert.deepEqual([membersOf(5)?.members, membersOf(5)?.of], ['', 5]);
  });
});

suite('the deadline of a gateway', () => {
  test('never expires for a canary that is recreated again and again, which the summary says', () => {
    const history = historyOf(pilot).begin();
    for (let turn = 0; turn < 4; turn += 1) {
      const { now } = history.later(DEADLINE_MS / 2).world;
      history.agent({ createdAt: now, notReadySince: now }, 0).control();
    }
    const { phase, waitsFor } = history.rollout;
    assert.deepEqual([phase, waitsFor, history.admitted[1]], ['Progressing', 'Gateways', '']);
  });

  test('applies to superseded rollouts as well', () => {
    const history = historyOf(pilot, { onFailure: 'Rollback' }).begin().control({ isOpen: false, wanted: 'C' });
    history.later(DEADLINE_MS).control();
    assert.deepEqual([history.rollout.phase, history.rollout.nextCommit], ['RollingBack', 'C']);
    assert.match(history.message, / C .*; .* A .* g0\b/);
  });
});

test('a commit that was rolled back stays so while other commits come and go', () => {
  const history = historyOf(pilot).begin('B').sync(0).control().control({ wanted: 'C' }).control({ wanted: 'B' });
  assert.deepEqual([history.rollout.commit, history.rollout.nextCommit], ['C', undefined]);
  assert.equal(history.fork().control({ retry: 'B' }).rollout.commit, 'B');
  for (const index of [0, 1, 2]) {
    assert.equal(history.rollout.nextCommit, undefined);
    history.sync(index).control();
  }
  const { phase, nextCommit, waitsFor } = history.rollout;
  assert.deepEqual([phase, nextCommit, waitsFor], ['Complete', 'B', 'Retry'], 'it waits from now on');
});

suite('a rollback of a failed commit', () => {
  test('is complete when the gateways that had the commit are back', () => {
    const history = historyOf(pilot).begin().sync(0);
    history
      .agent({ notReadySince: history.world.now - 2000 }, 0)
      .later(1500)
      .control({ rollback: 'previous' });
    history.sync(1, 2).control();
    assert.equal(history.rollout.phase, 'RollingBack');
    assert.match(history.message, /; .* g0 /);
    history.sync(0).control();
    assert.deepEqual([history.rollout.phase, history.rollout.verified], ['RolledBack', 3]);
  });

  for (const ms of [1, 5]) {
    test(`doesn't wait for gateways that joined since, even ${ms} ms ago`, () => {
      const history = historyOf(pilot).begin().control({ rollback: 'previous' });
      const joined = history.world.now + ms;
      history.agent({ createdAt: joined, notReadySince: joined }, 2).later(5).sync(0, 1).control();
      assert.equal(history.rollout.phase, 'RolledBack');
    });
  }
});
