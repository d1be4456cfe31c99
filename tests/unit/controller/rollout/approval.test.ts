import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { Fleet, fitting, shut, two } from './fleet.ts';

const PREVIEW = { previewMs: 30_000 };
const approved = { ...PREVIEW, approved: 'B/r' };

const gated: RolloutSpec = {
  waves: [{ name: 'canary' }, { name: 'two', approval: true }, { name: 'three', approval: true }],
};
/** One gateway in each wave, and one in the rest. */
const fits = fitting('100', '010', '001', '000');

const digest = (letter: string) => ({ digest: letter.repeat(64) });
const digestOf = (index: number) => ({ digest: String(index).padStart(64, '0').split('').reverse().join('') });
const short = (...letters: string[]) => letters.map((letter) => letter.repeat(16));
const approvedIn = ({ rollout }: Fleet) => rollout.handled?.approvedDigests;
const phaseOf = ({ rollout: { phase, wave } }: Fleet) => [phase, wave].filter(Boolean).join(' ');

/** A commit whose preview is over, with the change of each gateway. */
function previewed(letters: string, more = {}): Fleet {
  const fleet = new Fleet(gated, fits).changeAll({ supportsPreviews: true }).set({ ...PREVIEW, ...more });
  fleet.look();
  for (const [index, letter] of [...letters].entries()) fleet.preview('B', [index], digest(letter));
  fleet.look();
  return fleet;
}

/** A healthy gateway with the commit. Its agent no longer reports a preview. */
function deliver(fleet: Fleet, index: number): void {
  fleet.well(index).change(index, { preview: undefined }).look();
}

suite('an approval is not asked for again', () => {
  test('if a gateway of a wave that needs none reports other changes again and again', () => {
    const fleet = previewed('aabb', approved);
    deliver(fleet, 0);
    for (const letter of 'cde') {
      fleet.preview('B', [3], digest(letter)).look();
      assert.equal(phaseOf(fleet), 'Progressing two');
    }
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });

  test('if a gateway of a completed wave reports another change', () => {
    const fleet = previewed('aabb', approved);
    deliver(fleet, 0);
    fleet.join(1, { name: 'late', key: '99', createdAt: fleet.now }).preview('B', [4], digest('c'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });
});

suite('an approval covers the changes of the preview', () => {
  test('which the canary already has', () => {
    const fleet = previewed('abbb');
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'AwaitingApproval two');
    fleet.set(approved).look();
    assert.deepEqual(approvedIn(fleet), short('a', 'b'));
    fleet.join(2, { name: 'new', key: '99' }).preview('B', [4], digest('a'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });

  test('of a paused gateway, which its wave can then wait for', () => {
    const fleet = previewed('aabb');
    const paused = fleet.gateways.length;
    fleet.join(1, { name: 'paused', key: '99', isPaused: true });
    fleet.preview('B', [paused], digest('c')).look('B', approved);
    assert.deepEqual(approvedIn(fleet), short('a', 'b', 'c'));
    fleet.change(paused, { isPaused: false }).set(approved);
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'Progressing two');
  });

  test('of a gateway whose report is missing at that time, even if paused ones report many others', () => {
    const fleet = previewed('aabb');
    const { length } = fleet.gateways;
    for (let index = 0; index < BOUNDS.approvedDigests; index += 1) {
      fleet.join(1, { name: `p${index}`, key: `9${index}`, isPaused: true });
      fleet.preview('B', [length + index], digestOf(index));
    }
    fleet.change(2, { preview: undefined }).look('B', approved);
    assert.equal(approvedIn(fleet)?.length, BOUNDS.approvedDigests);
    assert.ok(approvedIn(fleet)?.includes('b'.repeat(16)));
  });

  test('of a paused gateway, and no others, if only this one has reported', () => {
    const fleet = new Fleet(gated, fits).changeAll({ supportsPreviews: true }).change(1, { isPaused: true });
    fleet.set(approved).look();
    fleet.preview('B', [1], digest('c')).pass(1).look();
    assert.deepEqual(approvedIn(fleet), short('c'));
  });

  for (const [when, more] of [
    ['while a wave waits', {}],
    ['while the commit waits for a window', shut],
  ] as const)
    test(`of a gateway whose report is missing when a user approves it ${when}`, () => {
      const fleet = previewed('abcd', more);
      if (more !== shut) deliver(fleet, 0);
      const { gateways } = fleet;
      fleet.gateways = gateways.map((gateway, index) => (index === 2 ? { ...gateway, preview: undefined } : gateway));
      fleet.look('B', { ...approved, ...more });
      fleet.gateways = [...gateways];
      fleet.set(approved).look();
      deliver(fleet, 0);
      deliver(fleet, 1);
      assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['Progressing three', short('a', 'b', 'c', 'd')]);
    });

  test('when it ended, and the ones that gateways report now, but no others', () => {
    const fleet = previewed('abbb');
    deliver(fleet, 0);
    fleet.preview('B', [1], digest('c')).look();
    fleet.preview('B', [1], digest('d')).look('B', approved);
    assert.deepEqual(approvedIn(fleet), short('a', 'b', 'd'));
  });

  test('as many as fit, and first the ones that gateways report now', () => {
    const fleet = previewed('abbb');
    for (let index = 0; index < BOUNDS.approvedDigests - 1; index += 1) {
      fleet.join(2, { name: `r${index}`, key: `9${index}` }).preview('B', [4 + index], digestOf(index));
    }
    deliver(fleet, 0);
    fleet.look('B', approved);
    assert.equal(approvedIn(fleet)?.length, BOUNDS.approvedDigests);
    assert.deepEqual(
      approvedIn(fleet)?.filter((each) => short('a', 'b').includes(each)),
      short('b'),
    );
  });

  test('if the preview had more than fit, it covers the commit', () => {
    const fleet = new Fleet(gated, [...fits, ...Array.from({ length: BOUNDS.approvedDigests }, () => fits[2] ?? [])]);
    fleet.changeAll({ supportsPreviews: true }).set(PREVIEW).look();
    for (const index of fleet.gateways.keys()) fleet.preview('B', [index], digestOf(index));
    fleet.look();
    assert.deepEqual(fleet.rollout.preview?.digests, ['all']);
    fleet.gateways.splice(4);
    deliver(fleet, 0);
    fleet.look('B', approved);
    assert.deepEqual(approvedIn(fleet), ['all']);
  });
});

suite('an approval while no gateway has reported a change', () => {
  /** A fleet whose pods are starting, so that the preview waits for none. */
  function starting(): Fleet {
    const fleet = new Fleet(gated, fits).set(approved).look();
    assert.deepEqual([fleet.rollout.preview?.total, approvedIn(fleet)], [0, undefined]);
    return fleet;
  }

  test('covers the changes that are reported first', () => {
    const fleet = starting().preview('B', [1, 2], digest('b'));
    deliver(fleet, 0);
    assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['Progressing two', short('b')]);
    fleet.preview('B', [2], digest('c'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'AwaitingApproval three');
  });

  test('begins no wave before the first report, or the end of the time for previews', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', approval: true }] }, two).set(approved).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.nextCommit], ['Complete', 'B']);
    assert.match(fleet.message, / B .*, .*; /);
    fleet.preview('B', [0, 1], digest('b')).look();
    assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['Progressing canary', short('b')]);
  });

  test('begins a wave at once if no agent knows previews', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', approval: true }] }, two);
    fleet.changeAll({ supportsPreviews: false }).set(approved).look();
    assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['Progressing canary', ['all']]);
  });

  test('covers the commit if no gateway reports any in the time for previews', () => {
    const fleet = starting();
    fleet.now += 28_999;
    fleet.look();
    assert.equal(approvedIn(fleet), undefined);
    fleet.now -= 999;
    fleet.look();
    assert.deepEqual(approvedIn(fleet), ['all']);
    fleet.preview('B', [1, 2], digest('b'));
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'Progressing two');
  });
});

test('an approval is asked for again if a gateway of a later wave that needs one reports another change', () => {
  const fleet = previewed('aabb', approved).preview('B', [2], digest('c'));
  deliver(fleet, 0);
  assert.equal(phaseOf(fleet), 'AwaitingApproval two');
});

test('many different changes in waves that need no approval do not make it one of the commit', () => {
  const fleet = previewed('aabb');
  for (let index = 0; index <= BOUNDS.approvedDigests; index += 1) {
    fleet.join(3, { name: `r${index}`, key: `9${index}` }).preview('B', [4 + index], digestOf(index));
  }
  fleet.look('B', approved);
  assert.equal(approvedIn(fleet)?.length, BOUNDS.approvedDigests);
  for (const each of short('a', 'b')) assert.ok(approvedIn(fleet)?.includes(each));
});

suite('an approval covers no more than what was shown', () => {
  for (const [when, more] of [
    ['after it', approved],
    ['before the changes are recorded', { ...approved, previewMs: 30_000 }],
  ] as const)
    test(`if previews are turned off ${when}`, () => {
      const fleet = previewed(when === 'after it' ? 'abbb' : '', more).set({ approved: 'B/r' });
      for (let turn = 0; turn < 3; turn += 1) fleet.well(0).look();
      assert.equal(phaseOf(fleet), 'AwaitingApproval two');
      assert.equal(fleet.rollout.waitsFor, 'Approval');
      fleet.look('B', {}).look('B', { approved: 'B/r' });
      assert.equal(phaseOf(fleet), 'Progressing two');
    });

  test('if previews are turned off at the same time', () => {
    const fleet = previewed('abbb').set({ approved: 'B/r' });
    for (let turn = 0; turn < 3; turn += 1) fleet.well(0).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['AwaitingApproval two', 'Approval']);
  });

  test('if a newer commit took the place of its preview for a while', () => {
    const fleet = previewed('abbb', approved).well(0).look('C').look();
    fleet.well(0).look();
    assert.equal(phaseOf(fleet), 'AwaitingApproval two');
  });

  test('if it was rolled back, and other commits fail afterwards', () => {
    const all: RolloutSpec = { waves: [{ name: 'all', approval: true }], onFailure: 'Rollback' };
    const fleet = new Fleet(all, [[true]]);
    fleet.changeAll({ supportsPreviews: true }).set(approved);
    const tryCommit = (commit: string, failure?: string) => {
      fleet.look(commit).preview(commit, [0], { digest: commit.repeat(64), failure });
      fleet.pass(2).look(commit).look(commit);
    };
    tryCommit('B');
    assert.equal(phaseOf(fleet), 'Progressing all');
    fleet.fail(0).look();
    fleet.report([0], 'healthy', { commit: fleet.rollout.stableCommit }).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.givenUp], ['RolledBack', ['B r']]);
    for (const other of 'CDEF') tryCommit(other, 'broken');
    tryCommit('B');
    assert.deepEqual([fleet.rollout.nextCommit, fleet.rollout.waitsFor], ['B', 'Retry']);
    // An approval that is removed keeps nothing in the list.
    fleet.set(PREVIEW);
    for (const other of 'CDEF') tryCommit(`${other}2`, 'broken');
    assert.equal(fleet.rollout.givenUp?.length, 4);
    tryCommit('B');
    assert.deepEqual([fleet.rollout.nextCommit, fleet.rollout.waitsFor], ['B', 'Approval']);
  });
});
