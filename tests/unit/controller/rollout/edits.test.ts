import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { amountOf, makeAdmission } from '../../../../controller/rollout/admission.ts';
import { sync, withAgent } from './agents.ts';
import { fitting } from './fleet.ts';
import {
  admittedIn,
  begun,
  control,
  DEADLINE_MS,
  later,
  makeWorld,
  messageOf,
  type Plan,
  rolloutOf,
  type Setup,
  type World,
} from './model.ts';

const canary: Plan = { spec: { waves: [{ name: 'canary' }] }, fits: [[true], [false], [false]] };
const pilot: Plan = { ...canary, spec: { waves: [{ name: 'pilot' }] } };
const approved: Plan = { ...canary, spec: { waves: [{ name: 'pilot', approval: true }] } };
const inserted: Plan = {
  spec: { waves: [{ name: 'pilot' }, { name: 'canary' }] },
  fits: fitting('01', '10', '00'),
};
const none: Plan = { spec: {}, fits: [[], [], []] };

const setupOf = (other: Plan, more: object = {}): Setup => ({
  ...canary,
  spec: { ...canary.spec, ...more },
  others: [{ ...other, spec: { ...other.spec, ...more } }],
  bad: ['B'],
});
const edited = (world: World): World => ({ ...world, plan: 1 });

/** Reconciles twice, because the result of an edit may depend on the earlier write. */
const twice = (world: World, setup: Setup): World => control(later(control(world, setup), 10), setup);

suite('an edit of the waves admits no gateway', () => {
  const cases: [title: string, plan: Plan, change: Partial<World>, phase: string][] = [
    ['in a freeze, where the wave has another name', pilot, { isOpen: false }, 'AwaitingWindow'],
    ['in a freeze, where there is one more before', inserted, { isOpen: false }, 'AwaitingWindow'],
    ['in a freeze, where there are no more waves', none, { isOpen: false }, 'AwaitingWindow'],
    ['where the first one waits for approval', approved, {}, 'AwaitingApproval'],
    ['in a freeze, where another commit waits', pilot, { isOpen: false, wanted: 'C' }, 'AwaitingWindow'],
  ];
  for (const [title, plan, change, phase] of cases) {
    test(title, () => {
      const setup = setupOf(plan);
      const world = twice({ ...edited(begun(setup)), ...change }, setup);
      const { length } = admittedIn(world);
      assert.deepEqual(
        [rolloutOf(world).phase, admittedIn(world)],
        [change.wanted ? 'Progressing' : phase, Array(length).fill('')],
      );
    });
  }

  test('while the newest commit is unknown, the first wave begins again', () => {
    const setup = setupOf(pilot);
    const world = twice({ ...edited(begun(setup)), wanted: undefined }, setup);
    assert.deepEqual(
      [rolloutOf(world).phase, rolloutOf(world).wave, admittedIn(world)[1]],
      ['Progressing', 'pilot', ''],
    );
  });

  test('a stopped rollout stays stopped after an edit', () => {
    const setup = setupOf(pilot);
    let world = control(sync(begun(setup, 'B'), 0, setup), setup);
    world = twice(edited(world), setup);
    assert.deepEqual([rolloutOf(world).phase, admittedIn(world)], ['Stopped', ['', '']]);
    assert.match(messageOf(world), /B failed on g0, and its waves were edited afterwards/);
  });

  test('a complete commit stays complete after an edit, and all gateways keep it', () => {
    const setup = setupOf(pilot);
    let world = begun(setup);
    for (const index of [0, 1, 2]) world = control(sync(world, index, setup), setup);
    const { state: before } = world;
    assert.equal(before?.rollout.phase, 'Complete');
    world = twice(edited(world), setup);
    assert.deepEqual([rolloutOf(world).phase, admittedIn(world)], ['Complete', ['all', 'all']]);
    assert.deepEqual(
      rolloutOf(world).admission.map(({ wave, gateways }) => [wave, gateways]),
      [
        ['pilot', 1],
        ['rest', 2],
      ],
    );
    assert.deepEqual(world.state?.history, before?.history);
    assert.equal(rolloutOf(world).plan, 'p1');
  });

  test('a wave of the same name remembers that it had gateways', () => {
    const setup = setupOf({ ...canary, spec: { waves: [{ name: 'canary', gateways: '100%' }] } });
    const world = twice(edited(withAgent(begun(setup), 0, { createdAt: undefined })), setup);
    assert.deepEqual(admittedIn(world), ['', '']);
  });
});

suite('the waves of a spec', () => {
  const gateways = ['3', '1', '2', '4'].map((key) => ({
    name: `g${key}`,
    key,
    fits: [key !== '4'],
    createdAt: 0,
    notReadySince: undefined,
    isResting: key === '1',
    isOutdated: false,
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
    const setup = setupOf(pilot);
    let world = begun(setup);
    for (let turn = 0; turn < 4; turn += 1) {
      world = later(world, DEADLINE_MS / 2);
      world = control(withAgent(world, 0, { createdAt: world.now, notReadySince: world.now }), setup);
    }
    const { phase, waitsFor, admission } = rolloutOf(world);
    assert.deepEqual([phase, waitsFor, admission[1]?.admitted], ['Progressing', 'Gateways', '']);
  });

  test('applies to superseded rollouts as well', () => {
    const setup = setupOf(pilot, { onFailure: 'Rollback' });
    let world = control({ ...begun(setup), isOpen: false, wanted: 'C' }, setup);
    world = control(later(world, DEADLINE_MS), setup);
    assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).nextCommit], ['RollingBack', 'C']);
    assert.match(messageOf(world), /commit C has been waiting .*; rolling back .* because A failed on g0/);
  });
});

test('a commit that was rolled back stays so while other commits come and go', () => {
  const setup = setupOf(pilot);
  let world = control(sync(begun(setup, 'B'), 0, setup), setup);
  world = control({ ...world, wanted: 'C' }, setup);
  world = control({ ...world, wanted: 'B' }, setup);
  assert.deepEqual([rolloutOf(world).commit, rolloutOf(world).nextCommit], ['C', undefined]);
  assert.equal(rolloutOf(control({ ...world, retry: 'B' }, setup)).commit, 'B');
  for (const index of [0, 1, 2]) {
    assert.equal(rolloutOf(world).nextCommit, undefined);
    world = control(sync(world, index, setup), setup);
  }
  const { phase, nextCommit, waitsFor } = rolloutOf(world);
  assert.deepEqual([phase, nextCommit, waitsFor], ['Complete', 'B', 'Retry'], 'it waits from now on');
});

suite('a rollback of a failed commit', () => {
  test('is complete when the gateways that had the commit are back', () => {
    const setup = setupOf(pilot);
    let world = sync(begun(setup), 0, setup);
    world = withAgent(world, 0, { notReadySince: world.now - 2000 });
    world = control(later({ ...world, rollback: 'previous' }, 1500), setup);
    for (const index of [1, 2]) world = sync(world, index, setup);
    world = control(world, setup);
    assert.equal(rolloutOf(world).phase, 'RollingBack');
    assert.match(messageOf(world), /waiting for g0/);
    world = control(sync(world, 0, setup), setup);
    assert.deepEqual([rolloutOf(world).phase, rolloutOf(world).verified], ['RolledBack', 3]);
    assert.match(messageOf(world), /^the gateways were rolled back to commit S/);
  });

  for (const ms of [1, 5]) {
    test(`doesn't wait for gateways that joined since, even ${ms} ms ago`, () => {
      const setup = setupOf(pilot);
      let world = control({ ...begun(setup), rollback: 'previous' }, setup);
      world = later(withAgent(world, 2, { createdAt: world.now + ms, notReadySince: world.now + ms }), 5);
      for (const index of [0, 1]) world = sync(world, index, setup);
      assert.equal(rolloutOf(control(world, setup)).phase, 'RolledBack');
    });
  }

  test('is recorded with the commit that it leaves, and the history keeps that', () => {
    const setup = setupOf(pilot);
    const settle = (given: World) => {
      let world = given;
      for (let turn = 0; turn < 4; turn += 1) {
        world = control(world, setup);
        for (const index of [0, 1, 2]) world = sync(world, index, setup);
      }
      return control(world, setup);
    };
    let world = settle(makeWorld(setup));
    for (const commit of ['A', 'C'] as const) world = settle({ ...later(world, 10), wanted: commit });
    const commits = ({ state }: World) => state?.history.map(({ commit, revision, ref }) => [commit, revision, ref]);
    const all = ['C', 'A', 'S'].map((commit) => [commit, 'r', 'main']);
    assert.deepEqual(commits(world), all);
    world = settle({ ...world, rollback: 'S' });
    assert.deepEqual(commits(world), all);
    assert.deepEqual(rolloutOf(world).givenUp, ['C r']);
    const { commit, stableCommit, stableRef, stableRevision } = rolloutOf(world);
    assert.deepEqual([commit, stableCommit, stableRef, stableRevision], ['C', 'S', 'main', 'r']);
  });
});
