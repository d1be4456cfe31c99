import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { entryOf, type Shown, shownIn } from './approvals.ts';
import { Fleet, fitting, shut, two } from './fleet.ts';

const PREVIEW = { previewMs: 30_000 };

const gated: RolloutSpec = {
  waves: [{ name: 'canary' }, { name: 'two', approval: true }, { name: 'three', approval: true }],
};
/** One gateway in each wave, and one in the rest. */
const fits = fitting('100', '010', '001', '000');

const digest = (letter: string) => ({ digest: letter.repeat(64) });
const digestOf = (index: number) => ({ digest: String(index).padStart(64, '0').split('').reverse().join('') });
const short = (...letters: string[]) => letters.map((letter) => letter.repeat(32));
const approvedIn = ({ rollout }: Fleet) => rollout.approvals?.flatMap(({ digests }) => digests);
const phaseOf = ({ rollout: { phase, wave } }: Fleet) => [phase, wave].filter(Boolean).join(' ');

const shutAfter = { ...PREVIEW, ...shut };

/** A commit whose preview is over, with the change of each gateway. */
function previewed(letters: string, more = {}): Fleet {
  const fleet = new Fleet(gated, fits).reportAll().set({ ...PREVIEW, ...more });
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
    const fleet = previewed('aabb').approve();
    deliver(fleet, 0);
    for (const letter of 'cde') {
      fleet.preview('B', [3], digest(letter)).look();
      assert.equal(phaseOf(fleet), 'Progressing two');
    }
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });

  test('if a gateway of a completed wave reports another change', () => {
    const fleet = previewed('aabb').approve();
    deliver(fleet, 0);
    fleet.join(1, { name: 'late', key: '99', createdAt: fleet.now }).preview('B', [4], digest('c'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });
});

suite('an approval covers the changes that the status shows', () => {
  test('which the canary already has', () => {
    const fleet = previewed('abbb');
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'AwaitingApproval two');
    fleet.approve().look();
    assert.deepEqual(approvedIn(fleet), short('a', 'b'));
    fleet.join(2, { name: 'new', key: '99' }).preview('B', [4], digest('a'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'Progressing three');
  });

  test('of a paused gateway, which its wave can then wait for', () => {
    const fleet = previewed('aabb');
    const paused = fleet.gateways.length;
    fleet.join(1, { name: 'paused', key: '99', isPaused: true });
    fleet.preview('B', [paused], digest('c')).look().approve().look();
    assert.deepEqual(approvedIn(fleet), short('a', 'b', 'c'));
    fleet.change(paused, { isPaused: false });
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'Progressing two');
  });

  test('of a paused gateway, and unknown ones of the others, if only this one has reported', () => {
    const fleet = new Fleet(gated, fits).reportAll().change(1, { isPaused: true });
    fleet.set(PREVIEW).look();
    fleet.preview('B', [1], digest('c')).pass(1).look().approve().look();
    assert.deepEqual(approvedIn(fleet), [...short('c'), 'unknown']);
  });

  test('even those that no gateway reports any longer', () => {
    const fleet = previewed('abbb');
    deliver(fleet, 0);
    for (const letter of 'cd') fleet.preview('B', [1], digest(letter)).look();
    fleet.approve().look();
    assert.deepEqual(approvedIn(fleet), short('a', 'b', 'c', 'd'));
  });

  test('if the preview had more than fit, it covers the commit', () => {
    const fleet = new Fleet(gated, [...fits, ...Array.from({ length: BOUNDS.digests }, () => fits[2] ?? [])]);
    fleet.reportAll().set(PREVIEW).look();
    for (const index of fleet.gateways.keys()) fleet.preview('B', [index], digestOf(index));
    fleet.look();
    assert.deepEqual(fleet.rollout.preview?.digests, ['all']);
    fleet.gateways.splice(4);
    deliver(fleet, 0);
    fleet.approve().look();
    assert.deepEqual(approvedIn(fleet), ['all']);
  });
});

suite('while no gateway has reported a change', () => {
  /** A fleet whose pods are starting, so that the preview waits for none. */
  function starting(spec = gated): Fleet {
    const fleet = new Fleet(spec, fits).set(PREVIEW).look();
    assert.deepEqual([fleet.rollout.preview?.total, fleet.rollout.preview?.changes], [0, undefined]);
    return fleet;
  }
  const none: Shown = { release: 'app-b', commit: 'B', revision: 'r', changes: 'none', seen: undefined };

  test('an approval has no effect, and one of the first changes has', () => {
    const fleet = starting().addApproval('app-b', entryOf(none)).preview('B', [1, 2], digest('b'));
    deliver(fleet, 0);
    assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['AwaitingApproval two', undefined]);
    fleet.approve().look();
    assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['Progressing two', short('b')]);
    fleet.preview('B', [2], digest('c'));
    deliver(fleet, 1);
    assert.equal(phaseOf(fleet), 'AwaitingApproval three');
  });

  test('no release begins with a wave that needs an approval', () => {
    const fleet = starting({ waves: [{ name: 'canary', approval: true }] });
    fleet.addApproval('app-b', entryOf(none)).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.nextCommit], ['Complete', 'B']);
    assert.match(fleet.message, / B .*; .* app-b .*12:00:32/);
  });

  test('an approval is one of unknown changes after the time for previews', () => {
    const fleet = starting();
    fleet.now += 28_999;
    assert.equal(fleet.look().rollout.preview?.changes, undefined);
    fleet.now -= 999;
    fleet.look().approve().look();
    assert.deepEqual(approvedIn(fleet), ['unknown']);
    fleet.preview('B', [1], digest('b'));
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'AwaitingApproval two');
  });
});

suite('an unapproved change of a gateway keeps its wave waiting', () => {
  const waits = (fleet: Fleet) => assert.equal(phaseOf(fleet), 'AwaitingApproval two');
  /** The gateway of the second wave reports another change after the approval. */
  function changed(): Fleet {
    const fleet = previewed('aabb').approve().look().preview('B', [1], digest('c'));
    deliver(fleet, 0);
    waits(fleet);
    return fleet;
  }

  test('while its report lacks the preview, which has to be approved as unknown after a while', () => {
    const fleet = changed().change(1, { preview: undefined }).look();
    waits(fleet);
    fleet.pass(1).look();
    waits(fleet);
    fleet.approve().look();
    assert.deepEqual(approvedIn(fleet), [...short('a', 'b', 'c'), 'unknown']);
    assert.equal(phaseOf(fleet), 'Progressing two');
  });

  test('if others were approved as unknown, and its report is gone', () => {
    const fleet = previewed('aa').pass(1).look().approve().look();
    assert.deepEqual(approvedIn(fleet), [...short('a'), 'unknown']);
    fleet.preview('B', [1], digest('c'));
    deliver(fleet, 0);
    waits(fleet);
    waits(fleet.change(1, { preview: undefined }).look());
  });

  test('if it was created after others were approved as unknown, until it has reported', () => {
    const fleet = previewed('aa').pass(1).look().approve().look();
    fleet.join(1, { name: 'new', key: '99', createdAt: fleet.now, preview: undefined, report: undefined });
    deliver(fleet, 0);
    waits(fleet);
    assert.match(fleet.message, / report of new /);
    fleet.preview('B', [4], digest('a')).look();
    assert.equal(phaseOf(fleet), 'Progressing two');
  });

  test('if it is a further one of a wave that has begun', () => {
    const waves = [{ name: 'two', approval: true, maxConcurrent: 1 }];
    const fleet = new Fleet({ waves }, fitting('1', '1')).reportAll().set(PREVIEW).look();
    fleet.preview('B', [0, 1], digest('a')).look().approve().look();
    assert.deepEqual([phaseOf(fleet), fleet.letIn], ['Progressing two', ['g0']]);
    fleet.preview('B', [1], digest('c'));
    deliver(fleet, 0);
    waits(fleet);
    assert.deepEqual(fleet.letIn, ['g0']);
    fleet.approve().look();
    assert.deepEqual(fleet.letIn, ['g0', 'g1']);
  });

  test('if it was chosen for a wave that has lost its gateway', () => {
    const waves = ['two', 'three'].map((name) => ({ name, approval: true, ...(name === 'two' && { gateways: 1 }) }));
    const fleet = new Fleet({ waves }, fitting('11', '11')).reportAll().set(PREVIEW).look();
    fleet.preview('B', [0, 1], digest('a')).look().approve('two').look();
    assert.equal(phaseOf(fleet), 'Progressing two');
    fleet.preview('B', [1], digest('c')).remove(0).look().pass(60).look();
    waits(fleet);
    assert.deepEqual(fleet.letIn, []);
  });

  test('until its replacement has reported an approved one', () => {
    const fleet = changed();
    fleet
      .join(1, { name: 'new', key: '99', createdAt: fleet.now, preview: undefined, report: undefined })
      .remove(1)
      .look();
    waits(fleet);
    assert.ok(!fleet.rollout.preview?.digests?.includes('unknown'), 'it can still report');
    fleet.preview('B', [3], digest('a')).look();
    assert.equal(phaseOf(fleet), 'Progressing two');
  });

  test('while it is paused', () => {
    waits(changed().change(1, { isPaused: true }).look());
  });

  test('while it has a release that is neither the stable one nor the new one', () => {
    waits(changed().report([1], 'healthy', { commit: 'X' }).preview('B', [1], digest('c')).look());
  });

  test('although it was not ready before the preview, and all others are unchanged', () => {
    const fleet = new Fleet({ waves: [{ name: 'two', approval: true }] }, fitting('1', '1'));
    fleet.reportAll().change(1, { notReadySince: 0 }).set(PREVIEW).look().preview('B', [0]).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.nextCommit], ['Complete', 'B']);
    fleet.pass(1).look().approve().look();
    assert.deepEqual([approvedIn(fleet), fleet.rollout.commit], [['unknown'], 'B']);
  });

  test('until it has had as many changes as fit, after which an approval covers every change', () => {
    const fleet = previewed('aabb');
    for (let index = 0; index < BOUNDS.digests; index += 1) fleet.preview('B', [1], digestOf(index)).look();
    assert.deepEqual(fleet.rollout.preview?.digests, ['all']);
  });
});

suite('an approval of another release with the same name', () => {
  test('has no effect if the status has noted it', () => {
    const fleet = previewed('aabb').approve().look();
    const approvals = fleet.rollout.approvals?.map((each) => ({ ...each, commit: 'other' }));
    assert.equal(approvals?.length, 1);
    fleet.state = { ...fleet.rollout, approvals };
    fleet.set({ ...PREVIEW, approved: [] });
    deliver(fleet, 0);
    assert.equal(phaseOf(fleet), 'AwaitingApproval two');
  });

  test('has no effect if it is stored in the meantime', () => {
    const fleet = previewed('aabb');
    const { changes = '' } = fleet.rollout.preview ?? {};
    const approvals = [{ changes, by: 'anna', at: '' }];
    fleet.set({ ...PREVIEW, approved: [{ release: 'app-b', commit: 'other', revision: 'r', approvals }] });
    deliver(fleet, 0);
    assert.deepEqual([phaseOf(fleet), approvedIn(fleet)], ['AwaitingApproval two', undefined]);
  });
});

test('each wave needs an approval only of the changes of its own gateways', () => {
  const fleet = previewed('aabb').approve().look().preview('B', [2], digest('c'));
  deliver(fleet, 0);
  assert.equal(phaseOf(fleet), 'Progressing two');
  deliver(fleet, 1);
  assert.equal(phaseOf(fleet), 'AwaitingApproval three');
  fleet.approve().look();
  assert.equal(phaseOf(fleet), 'Progressing three');
});

test('an approval of one wave opens no other one', () => {
  const fleet = previewed('aaaa').approve('three');
  deliver(fleet, 0);
  assert.equal(phaseOf(fleet), 'AwaitingApproval two');
  assert.ok(!fleet.message.includes('other changes'), fleet.message);
  fleet.approve('two').look();
  assert.equal(phaseOf(fleet), 'Progressing two');
  deliver(fleet, 1);
  assert.equal(phaseOf(fleet), 'Progressing three');
  const other = previewed('aaaa').approve('two');
  for (const index of [0, 1]) deliver(other, index);
  assert.equal(phaseOf(other), 'AwaitingApproval three');
});

test('a release begins only after the approval of all gateways that its first wave takes by then', () => {
  const fleet = new Fleet({ waves: [{ name: 'one', gateways: 1, approval: true }] }, fitting('1', '1', '1'));
  fleet.reportAll().set(shutAfter).look().preview('B', [0, 1, 2], digest('a')).look();
  assert.equal(fleet.approve().look().rollout.waitsFor, 'Window');
  fleet.remove(0).preview('B', [0], digest('c')).set(PREVIEW).look();
  assert.deepEqual(
    [fleet.rollout.phase, fleet.rollout.nextCommit, fleet.rollout.waitsFor],
    ['Complete', 'B', 'Approval'],
  );
  fleet.approve().look();
  assert.equal(phaseOf(fleet), 'Progressing one');
});

test('many different changes in waves that need no approval do not make it one of every change', () => {
  const fleet = previewed('aabb');
  for (let index = 0; index <= BOUNDS.digests; index += 1) {
    fleet.join(3, { name: `r${index}`, key: `9${index}` }).preview('B', [4 + index], digestOf(index));
  }
  fleet.look().approve().look();
  assert.equal(approvedIn(fleet)?.length, BOUNDS.digests - 1);
  for (const each of short('a', 'b')) assert.ok(approvedIn(fleet)?.includes(each));
});

suite('an approval has no effect', () => {
  const waiting = (fleet: Fleet) => [phaseOf(fleet), fleet.rollout.waitsFor];

  test('on changes that are reported before it arrives', () => {
    const fleet = previewed('abbb');
    const shown = shownIn(fleet.rollout, true) as Shown;
    fleet.preview('B', [1], digest('c')).look().addApproval('app-b', entryOf(shown));
    deliver(fleet, 0);
    assert.deepEqual([waiting(fleet), approvedIn(fleet)], [['AwaitingApproval two', 'Approval'], undefined]);
  });

  test('on another release with the same changes', () => {
    const fleet = previewed('abbb');
    const shown = shownIn(fleet.rollout, true) as Shown;
    fleet.addApproval('app-a', entryOf(shown)).addApproval('app-c', entryOf(shown));
    deliver(fleet, 0);
    assert.deepEqual([waiting(fleet), approvedIn(fleet)], [['AwaitingApproval two', 'Approval'], undefined]);
  });

  test('before the preview of its release begins', () => {
    const fleet = previewed('abbb').look('C').preview('C', [0, 1, 2, 3], digest('a')).look('C').look('D');
    assert.deepEqual([fleet.rollout.nextCommit, fleet.rollout.preview], ['D', undefined]);
    const pending = { release: 'app-d', commit: 'D', revision: 'r', changes: 'none', seen: undefined };
    fleet.addApproval('app-d', entryOf(pending)).look('D');
    assert.deepEqual(approvedIn(fleet), undefined);
  });

  test('on the next release with the same changes', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary', approval: true }] }, two);
    fleet.reportAll().set(PREVIEW).look().preview('B', [0, 1], digest('a')).look();
    fleet.approve().look().pass(2).look('C').preview('C', [0, 1], digest('a')).look('C');
    const { commit, nextCommit, waitsFor } = fleet.rollout;
    assert.deepEqual([commit, nextCommit, waitsFor], ['B', 'C', 'Approval']);
    fleet.approve().look('C');
    assert.deepEqual([fleet.rollout.commit, phaseOf(fleet)], ['C', 'Progressing canary']);
    assert.deepEqual(
      fleet.rollout.approvals?.map(({ release }) => release),
      ['app-c'],
    );
  });

  test('if previews are turned off after it, until another one', () => {
    const fleet = previewed('abbb').approve().look().set({});
    for (let turn = 0; turn < 3; turn += 1) fleet.well(0).look();
    assert.deepEqual(waiting(fleet), ['AwaitingApproval two', 'Approval']);
    fleet.approve().look();
    assert.equal(phaseOf(fleet), 'Progressing two');
  });

  test('if a newer commit took the place of its preview for a while', () => {
    const fleet = previewed('abbb').approve().look().well(0).look('C').look();
    fleet.well(0).look();
    assert.equal(phaseOf(fleet), 'AwaitingApproval two');
  });
});

test('more approvals than fit into the status are noted once, and those of the next release first', () => {
  const fleet = previewed('abbb');
  const fill = (release: string, waves: string) => {
    const shown = { ...(shownIn(fleet.rollout, true) as Shown), release };
    for (let index = 1; index < BOUNDS.approvals; index += 1)
      fleet.addApproval(release, entryOf(shown, `${waves}${index}`));
  };
  fill('app-b', 'x');
  deliver(fleet, 0);
  fleet.pass(2).look('C', shutAfter).preview('C', [0, 1, 2, 3], digest('b')).look('C', shutAfter);
  fill('app-c', 'y');
  fleet.approve().look('C', shutAfter);
  const { approvals } = fleet.rollout;
  assert.deepEqual(
    approvals?.map(({ release }) => release),
    Array.from({ length: BOUNDS.approvals }, () => 'app-c'),
  );
  assert.deepEqual(fleet.look('C', shutAfter).rollout.approvals, approvals);
});

suite('a wave with approval whose changed gateways are gone', () => {
  for (const [what, leave] of [
    ['deleted', (fleet: Fleet) => fleet.remove(0)],
    ['paused', (fleet: Fleet) => fleet.change(0, { isPaused: true })],
    ['unchanged, according to a report', (fleet: Fleet) => fleet.preview('B', [0])],
  ] as const)
    test(`gives no other gateway a change that no user approved, if they are ${what}`, () => {
      const fleet = new Fleet({ waves: [{ name: 'two', approval: true, maxConcurrent: 1 }] }, fitting('1', '1'));
      fleet.reportAll().set(PREVIEW).look().preview('B', [0], digest('a')).preview('B', [1]).look().approve().look();
      // It wasn't ready before, so the wave doesn't wait for it.
      fleet.join(1, { name: 'late', key: '99', notReadySince: 0 }).preview('B', [2], digest('c')).look();
      leave(fleet).look().pass(16).look().look();
      assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['Progressing two', 'Gateways']);
      assert.match(fleet.message, / 15m0s.* app-b/);
      fleet.approve().look();
      assert.equal(fleet.rollout.phase, 'Complete');
    });

  test('still has an approval before it in the next release, if it was skipped in this one', () => {
    const fleet = new Fleet({ waves: [{ name: 'prod', approval: true }, { name: 'b' }] }, fitting('10', '01'));
    fleet.reportAll().set(PREVIEW).look().preview('B', [0]).preview('B', [1], digest('a')).look().remove(0);
    fleet.look().well(0).change(0, { preview: undefined }).look().look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.commit], ['Complete', 'B']);
    fleet.pass(5).look('C').preview('C', [0]).look('C').look('C');
    assert.deepEqual([fleet.rollout.commit, fleet.rollout.waitsFor], ['B', 'Approval']);
  });
});
