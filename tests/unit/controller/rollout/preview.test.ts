import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { BOUNDS } from '../../../../shared/api/bounds.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { canary, Fleet, fitting, shut, three, two } from './fleet.ts';

const PREVIEW = { previewMs: 30_000 };
/** The same while no window is open. */
const SHUT = { ...PREVIEW, ...shut };
const RETRY = { ...PREVIEW, retry: 'B' };

/** A fleet whose agents know previews, with a new commit whose preview has begun. */
function begin(spec: RolloutSpec, fits: readonly (readonly boolean[])[], more = {}): Fleet {
  const fleet = new Fleet(spec, fits).reportAll();
  return fleet.set({ ...PREVIEW, ...more }).look();
}

const gatedCanary: RolloutSpec = { waves: [{ name: 'canary', approval: true }] };

/** When the preview of the first new commit begins. */
const FIRST = '2026-11-22T12:00:02.000Z';

/** Reconciles this many milliseconds after that. */
function lookAfter(fleet: Fleet, ms: number, commit = 'B', more = fleet.more): void {
  fleet.now = Date.parse(FIRST) + ms - 1_000;
  fleet.look(commit, more);
}

/** A canary wave of two gateways, of which the first one isn't ready, and another gateway. Commit A is complete. */
function withUnready(spec = canary, more = {}): Fleet {
  const fleet = new Fleet(spec, three).preview('A', [0, 1, 2]).blink(0);
  fleet
    .set({ ...PREVIEW, ...more })
    .pass(1)
    .look();
  return fleet;
}

const phaseOf = ({ rollout: { phase, wave, commit, stableCommit } }: Fleet) =>
  [phase, wave, commit, stableCommit].filter(Boolean).join(' ');

suite('before the first wave', () => {
  test('all gateways preview the commit, and none gets it', () => {
    const fleet = begin(canary, three);
    assert.equal(phaseOf(fleet), 'Previewing canary B A');
    fleet.preview('B', [0], {}).preview('B', [2]).look();
    const { preview, summary, message } = fleet.rollout;
    const { total, reported, unchanged, failing, files, ...release } = preview ?? {};
    assert.deepEqual([total, reported, unchanged, failing, files], [3, 2, 1, 0, 1]);
    const expected = { commit: 'B', ref: 'main', revision: 'r', release: 'app-b', startedAt: FIRST };
    assert.deepEqual(release, { ...expected, endedAt: undefined, everyCommit: undefined, changedWaves: ['canary'] });
    assert.equal(summary, 'previewing 2/3');
    assert.match(message ?? '', / B .*: 2 of 3 .*: g1\); /);
    assert.deepEqual(fleet.letIn, []);
    fleet.preview('B', [1], {}).look();
    assert.equal(phaseOf(fleet), 'Progressing canary B A');
    assert.deepEqual(fleet.letIn, ['g0', 'g1']);
  });

  test('the wait ends to the exact millisecond, and a gateway without a report counts as changed', () => {
    const fleet = begin(canary, two).preview('B', [1]);
    lookAfter(fleet, 29_999);
    assert.deepEqual([fleet.rollout.phase], ['Previewing']);
    lookAfter(fleet, 30_000);
    assert.deepEqual([phaseOf(fleet), fleet.letIn], ['Progressing canary B A', ['g0']]);
  });

  test("it doesn't wait for gateways without an agent, paused gateways, or gateways that were not ready before", () => {
    const fleet = new Fleet(canary, [[true], [true], [true], [true]]);
    fleet.preview('A', [1, 2, 3]).change(1, { isPaused: true });
    fleet.change(2, { notReadySince: 0 }).look('B', PREVIEW);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.preview?.total], ['Previewing', 1]);
    fleet.preview('B', [3], {}).look('B', PREVIEW);
    assert.equal(fleet.rollout.phase, 'Progressing');
  });

  test('a preview that cannot begin yet waits for its time, although no gateway is ready', () => {
    const fleet = begin(canary, two);
    for (const commit of ['B', 'C']) fleet.preview(commit, [0, 1], { failure: 'broken' }).look(commit).look(commit);
    for (const index of [0, 1]) fleet.blink(index);
    fleet.look('D');
    assert.equal(phaseOf(fleet), 'Previewing canary D A');
    lookAfter(fleet, 59_999, 'D');
    assert.deepEqual([phaseOf(fleet)], ['Previewing canary D A']);
    lookAfter(fleet, 60_000, 'D');
    assert.equal(phaseOf(fleet), 'Progressing canary D A');
  });

  test('a preview counts changes by the waves that are chosen when the rollout begins', () => {
    const fleet = begin({ waves: [{ name: 'half', gateways: '50%' }] }, [[true], [true], [true], [true]], shut);
    fleet.remove(0).preview('B', [1], {}).look();
    assert.deepEqual(fleet.rollout.preview?.changedWaves, ['rest']);
    fleet.look('B', PREVIEW);
    assert.equal(fleet.rollout.phase, 'Previewing');
    assert.deepEqual(fleet.rollout.preview?.changedWaves, ['half', 'rest']);
  });

  test('previews can be off, and a fleet without agents is not delayed by the one before', () => {
    const fleet = begin(canary, two, { previewMs: 0 });
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.preview], ['Progressing', undefined]);
    const silent = new Fleet(canary, two).set(PREVIEW);
    for (const commit of 'BCD') {
      silent.look(commit);
      assert.equal(phaseOf(silent), `Progressing canary ${commit} A`);
    }
  });

  test('a preview of another commit, of another revision, or from another release proves nothing', () => {
    const fleet = begin(canary, two);
    const away = { rollout: 1, commit: 'Z', revision: 'r', state: 'healthy' } as const;
    fleet.preview('C', [0]).preview('B', [1], { revision: 'other', changesNothing: true }).look();
    assert.equal(fleet.rollout.preview?.reported, 0);
    fleet.preview('B', [0, 1]).change(1, { report: away }).look();
    assert.deepEqual([fleet.rollout.preview?.reported, fleet.rollout.phase], [1, 'Previewing']);
  });

  test('a newer commit replaces one without extending the wait', () => {
    const fleet = begin(canary, two);
    lookAfter(fleet, 29_000, 'C');
    assert.deepEqual([fleet.rollout.preview?.commit, fleet.rollout.preview?.startedAt], ['C', FIRST]);
    lookAfter(fleet, 30_000, 'C');
    assert.equal(phaseOf(fleet), 'Progressing canary C A');
  });

  test('gateways keep a commit in progress while the next one is previewed, and get that one directly', () => {
    const fleet = begin(canary, three).preview('B', [0, 1, 2], {}).look().well(0).look('C');
    assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Progressing canary B A', 'C']);
    assert.match(fleet.message, / C .*; .* B\b/);
    fleet.well(1);
    fleet.preview('C', [0, 1, 2], {}).preview('C', [1], { failure: 'check' }).look('C');
    assert.deepEqual([phaseOf(fleet), fleet.letIn], ['Stopped canary C A', []]);
    fleet.changeAll({ report: undefined }).pass(2).look('D');
    fleet.pass(1).look('D');
    assert.equal(phaseOf(fleet), 'Progressing canary D A');
    fleet.well(0).look('E');
    fleet.preview('E', [0, 1, 2], {}).look('E');
    assert.deepEqual([phaseOf(fleet), fleet.letIn], ['Progressing canary E A', ['g0', 'g1']]);
    // The gateway that still has D was compared with that.
    fleet.preview('E', [0]).look('E');
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.total], ['canary', 3]);
  });

  test('a fix of a stopped commit is previewed at once, and a series of commits one per minute', () => {
    const fleet = begin(canary, two);
    const stopped = (commit: string) => {
      fleet.preview(commit, [0, 1], { failure: 'check' }).look(commit);
      assert.equal(phaseOf(fleet), `Stopped canary ${commit} A`);
    };
    stopped('B');
    lookAfter(fleet, 20_000, 'C');
    assert.deepEqual([fleet.rollout.preview?.commit, fleet.rollout.phase], ['C', 'Previewing']);
    stopped('C');
    for (const [index, commit] of ['D', 'E', 'F'].entries()) {
      const minutes = index + 1;
      lookAfter(fleet, minutes * 60_000 - 1, commit);
      assert.deepEqual([phaseOf(fleet), fleet.rollout.preview], [`Previewing canary ${commit} A`, undefined]);
      assert.equal(fleet.rollout.summary, 'preview pending');
      assert.match(fleet.message, / \S+:02\.000Z, /);
      lookAfter(fleet, minutes * 60_000, commit);
      assert.deepEqual([fleet.rollout.preview?.commit, fleet.rollout.phase], [commit, 'Previewing']);
      stopped(commit);
    }
  });

  test('a commit is previewed before it waits for a window', () => {
    const fleet = begin(canary, two).preview('B', [0, 1], { failure: 'check' }).look();
    lookAfter(fleet, 20_000, 'C', SHUT);
    fleet.preview('C', [0, 1], {}).look('C', SHUT);
    assert.match(fleet.message, /; .*: 2 of 2 .*; /);
    lookAfter(fleet, 30_000, 'D', SHUT);
    lookAfter(fleet, 120_000, 'D', SHUT);
    assert.match(fleet.message, / D .*: 0 of 2 .*: g0 and g1\)/);
  });

  test('a commit begins with one write, although gateways have previewed it from a release that failed', () => {
    const fleet = begin(canary, two).preview('B', [0, 1], {}).look().fail(0).look();
    fleet.pass(1).look('C', SHUT);
    fleet.preview('C', [0], {}).look('C', SHUT);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.preview?.reported], ['Stopped', 1]);
    fleet.look('C');
    const { state } = fleet;
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.preview?.reported], ['Previewing', 0]);
    fleet.look('C');
    assert.deepEqual(fleet.state, state);
  });

  test('a clock that was set back delays neither the wait nor the next preview', () => {
    const fleet = begin(canary, two).pass(-60).look();
    lookAfter(fleet, 30_000);
    assert.equal(fleet.rollout.phase, 'Progressing');
  });
});

suite('a commit that changes nothing', () => {
  const gated: RolloutSpec = { waves: [{ name: 'canary', approval: true, soak: '10m' }] };

  test('is complete at once, also without an approval and while no window is open', () => {
    const fleet = begin(gated, two, shut);
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.nextCommit], ['Complete', 'B']);
    assert.equal(fleet.rollout.preview?.commit, 'B');
    fleet.preview('B', [0, 1]).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
    assert.deepEqual([fleet.rollout.preview, fleet.rollout.nextCommit], [undefined, undefined]);
  });

  test('is complete although a gateway was not ready before, and a wave has no gateways', () => {
    const fleet = new Fleet({ waves: [{ name: 'canary' }, { name: 'empty' }] }, fitting('10', '10', '00'));
    fleet.preview('A', [0, 1, 2]);
    fleet.blink(0).pass(1).look('B', PREVIEW);
    assert.equal(fleet.rollout.phase, 'Previewing');
    fleet.preview('B', [1, 2]).look('B', PREVIEW);
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  for (const [name, more] of [
    ['approval', {}],
    ['window', shut],
  ] as const)
    test(`waits for its ${name} although a gateway that it changes is unready for a moment, or is replaced`, () => {
      const fleet = begin(gated, three, more).preview('B', [0], { files: 7 }).preview('B', [1, 2]).look();
      fleet.pass(60).look();
      for (const lose of [() => fleet.blink(0), () => fleet.replace(0)]) {
        lose().pass(1).look();
        assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Complete A A', 'B']);
      }
    });

  test('waits for the approval while the gateway of a wave that it changes is gone', () => {
    const fleet = begin(gated, three).preview('B', [0], {}).preview('B', [1, 2]).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.nextCommit], ['Complete', 'B']);
    fleet.remove(0).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.nextCommit], ['Complete', 'B']);
    // If no replacement appears, the others get it after the approval and the deadline.
    fleet.approve().look();
    assert.match(phaseOf(fleet), /^Progressing canary/);
    fleet.pass(16).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('for all ready gateways is not complete if an unready one reports a change', () => {
    const fleet = withUnready(gated, shut);
    fleet.preview('B', [0], { files: 7 }).preview('B', [1, 2]).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Complete A A', 'B']);
  });

  test('for a wave needs no soak, approval, or window for it', () => {
    const fleet = begin(gated, two).preview('B', [0]).preview('B', [1], {}).look();
    assert.equal(phaseOf(fleet), 'Progressing rest B A');
    assert.deepEqual(fleet.letIn, ['g0']);
    assert.match(fleet.message, /; .*: canary/);
    fleet.well(1).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('for a gateway does not make its wave wait for it, or fail', () => {
    const fleet = begin(canary, three).preview('B', [0]).preview('B', [1, 2], {}).look();
    assert.deepEqual([fleet.rollout.total, fleet.letIn], [2, ['g0', 'g1']]);
    fleet.well(1);
    fleet.report([0], 'failed', { commit: 'A' }).pass(30).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.failures], ['rest', undefined]);
  });

  test('for a gateway does not count as verified after another one stopped the rollout', () => {
    const fleet = begin({}, [[], [], []]).preview('B', [0, 1]).preview('B', [2], {}).look();
    fleet.report([2], 'failed', { commit: 'B' }).look();
    fleet.well(0, 1).look();
    const { summary, verified, total } = fleet.rollout;
    assert.deepEqual([summary, verified, total], ['stopped in rest 0/1', 0, 1]);
  });

  test('for a gateway whose labels change then counts for it', () => {
    const fleet = begin(canary, three).preview('B', [0]).preview('B', [1, 2], {}).look();
    fleet.well(1).preview('B', [0], {}).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.total], ['canary', 3]);
    fleet.well(0).look();
    assert.equal(fleet.rollout.wave, 'rest');
  });
});

suite('a commit that can only change paused gateways of a wave', () => {
  const gated: RolloutSpec = { waves: [{ name: 'canary', approval: true, soak: '10m' }, { name: 'last' }] };
  const fits = fitting('11', '11', '01');

  function rest(fleet: Fleet, isPaused: boolean, ...indexes: number[]): void {
    for (const index of indexes) fleet.change(index, { isPaused });
  }

  /** Gateways that were paused before the commit arrived, and a preview that all others have reported. */
  function beginPaused(spec: RolloutSpec, paused: number[], more = {}, gateways = fits): Fleet {
    const fleet = new Fleet(spec, gateways).preview('A', gateways.keys());
    rest(fleet, true, ...paused);
    fleet.set({ ...PREVIEW, ...more }).look();
    const others = [...gateways.keys()].filter((index) => !paused.includes(index));
    return fleet.preview('B', others);
  }

  for (const [what, report] of [
    ['reports a change', (fleet: Fleet, ...indexes: number[]) => fleet.preview('B', indexes, {})],
    ['reports nothing', () => undefined],
  ] as const)
    test(`waits for the approval, the window, and the soak of the wave if a paused one ${what}`, () => {
      const fleet = beginPaused(gated, [1], shut);
      report(fleet, 1);
      fleet.look();
      assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Complete A A', 'B']);
      fleet.set(PREVIEW).pass(1).look();
      assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['Complete A A', 'Approval']);
      fleet.approve().look();
      assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['Progressing canary B A', 'Gateways']);
      fleet.change(1, { isPaused: false }).look();
      assert.deepEqual([phaseOf(fleet), fleet.letIn], ['Progressing canary B A', ['g0', 'g1']]);
      fleet.well(0, 1).look();
      assert.equal(phaseOf(fleet), 'Soaking canary B A');
      fleet.pass(10).look();
      assert.equal(phaseOf(fleet), 'Complete B B');
    });

  test('ends the wave after the deadline if the paused one is not resumed, and is complete if nothing else changes', () => {
    const fleet = beginPaused(gated, [1]).preview('B', [1], {}).look().approve().look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['Progressing canary B A', 'Gateways']);
    fleet.well(0).pass(14).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.verified], ['Progressing canary B A', 0]);
    fleet.pass(1).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('waits for one of them if all are paused, although no other gateway of the fleet is changed', () => {
    const spec: RolloutSpec = { waves: [{ name: 'canary', soak: '10m' }, { name: 'last' }] };
    const fleet = beginPaused(spec, [0, 1], shut).preview('B', [0, 1], {}).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Complete A A', 'B']);
    fleet.set(PREVIEW).pass(60).look();
    fleet.pass(60).look();
    assert.deepEqual([phaseOf(fleet), fleet.letIn], ['Progressing canary B A', []]);
    assert.equal(fleet.rollout.waitsFor, 'Gateways');
    rest(fleet, false, 1);
    fleet.look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.total], ['Progressing canary B A', 1]);
    fleet.well(1).look();
    assert.equal(phaseOf(fleet), 'Soaking canary B A');
  });

  test('is complete at once if the paused ones report that they are unchanged', () => {
    const fleet = beginPaused(gated, [1], shut).look();
    assert.equal(phaseOf(fleet), 'Complete A A');
    fleet.preview('B', [1]).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('skips the wave if a paused one reports late that it is unchanged', () => {
    const fleet = beginPaused(canary, [1]).look();
    assert.equal(phaseOf(fleet), 'Progressing canary B A');
    fleet.preview('B', [1]).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('is tried by them if they are resumed in time, and counts against maxConcurrent', () => {
    const spec: RolloutSpec = { waves: [{ name: 'canary', approval: true, maxConcurrent: 1 }, { name: 'last' }] };
    const fleet = beginPaused(spec, [1, 2], {}, fitting('11', '11', '11', '01', '01'));
    fleet.preview('B', [1, 2, 3, 4], {}).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['Complete A A', 'Approval']);
    rest(fleet, false, 1, 2);
    fleet.approve().look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.admitted], ['Progressing canary B A', 1]);
  });

  test('is not held up by a paused one if others of its wave are changed and verified', () => {
    const fleet = beginPaused(canary, [1], {}, [...three, [true]])
      .preview('B', [0, 1], {})
      .look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.total], ['Progressing canary B A', 1]);
    fleet.well(0).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });
});

suite('the first wave with changes', () => {
  test('begins with all of its gateways, or with maxConcurrent, if the earlier waves are unchanged', () => {
    for (const [maxConcurrent, admitted] of [
      [undefined, 3],
      [2, 2],
    ] as const) {
      const fleet = begin(
        { waves: [{ name: 'canary' }, { name: 'all', maxConcurrent }] },
        fitting('11', '01', '01', '01'),
      );
      fleet.preview('B', [0]).preview('B', [1, 2, 3], {}).look();
      assert.deepEqual([fleet.rollout.wave, fleet.rollout.admitted], ['all', admitted]);
      assert.match(fleet.message, /; .*: canary/);
    }
  });

  test('is not verified by the unchanged gateways of earlier waves, which note the commit', () => {
    const fleet = begin(canary, three).preview('B', [0, 1]).preview('B', [2], {}).look().well(0, 1).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.verified, fleet.rollout.total], ['Progressing rest B A', 0, 1]);
    fleet.well(2).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('waits for the deadline if its changed gateways are gone, because the commit may be the reason', () => {
    const fleet = begin(canary, three).preview('B', [1]).preview('B', [0, 2], {}).look();
    fleet.remove(0).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.waitsFor], ['canary', 'Gateways']);
    fleet.pass(14).look();
    assert.equal(fleet.rollout.wave, 'canary');
    fleet.pass(1).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.admitted], ['rest', 1]);
  });

  test('waits for the deadline if its changed gateway no longer changes, and says that this is possible', () => {
    const fleet = begin(canary, three).preview('B', [0], {}).preview('B', [1]).look();
    fleet.preview('B', [0, 2]).look();
    assert.equal(phaseOf(fleet), 'Progressing canary B A');
    assert.match(fleet.message, / canary .* 15m0s$/);
    fleet.pass(15).look();
    assert.equal(phaseOf(fleet), 'Complete B B');
  });

  test('waits for the deadline if its only changed gateway was not ready before', () => {
    const fleet = withUnready().preview('B', [0, 2], {}).preview('B', [1]).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.waitsFor, fleet.letIn], ['canary', 'Gateways', ['g0']]);
    assert.match(fleet.message, / g0 .* 15m0s$/);
    fleet.pass(14).look();
    assert.equal(fleet.rollout.wave, 'canary');
    fleet.pass(1).look();
    assert.deepEqual([fleet.rollout.wave, fleet.rollout.admitted], ['rest', 2]);
  });

  test('is not blocked by an earlier one whose verified gateways are gone', () => {
    const gated: RolloutSpec = { waves: [{ name: 'canary' }, { name: 'all', approval: true }] };
    const fleet = begin(gated, fitting('11', '11', '01'));
    fleet.preview('B', [1]).preview('B', [0, 2], {}).look();
    fleet.well(0).look();
    assert.equal(fleet.rollout.phase, 'AwaitingApproval');
    fleet.remove(0).approve().look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.waitsFor], ['Progressing', 'Gateways']);
    fleet.pass(15).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.waitsFor], ['Progressing all B A', undefined]);
  });
});

suite('a commit that cannot be delivered', () => {
  const broken = { failure: 'template a.json: no value for\n"site"' };

  test('stops before the first wave, with the gateways grouped by message, and can be tried again', () => {
    const fleet = begin(canary, [[true], [true], [false], [false]]);
    fleet.preview('B', [0, 2], broken).preview('B', [1], { failure: 'check' }).look();
    assert.equal(fleet.rollout.phase, 'Previewing');
    fleet.preview('B', [3], {}).look();
    const { previewFailure, preview, givenUp, message, summary, waitsFor } = fleet.rollout;
    assert.equal(phaseOf(fleet), 'Stopped canary B A');
    assert.equal(previewFailure, 'template a.json: no value for "site" (g0 and g2); check (g1)');
    assert.deepEqual([givenUp, waitsFor], [['B r'], undefined]);
    // The plan shows all of them, and which of them the user has repaired.
    assert.deepEqual([preview?.commit, preview?.reported, preview?.failing], ['B', 4, 3]);
    fleet.preview('B', [1], {}).look();
    assert.deepEqual([fleet.rollout.phase, fleet.rollout.preview?.failing], ['Stopped', 2]);
    assert.equal(summary, 'stopped by the preview');
    assert.match(message ?? '', / B .*previewFailures: Ignore, .*retry-rollout: B$/);
    assert.deepEqual(fleet.letIn, []);
    fleet.set(RETRY).pass(1).look();
    // The agents forget what the status no longer names, and only then it names it again.
    assert.deepEqual([phaseOf(fleet), fleet.rollout.preview], ['Previewing canary B A', undefined]);
    assert.match(fleet.message, / g0 and g2 .* B$/);
    fleet.changeAll({ preview: undefined }).look();
    assert.deepEqual([fleet.rollout.preview?.commit, fleet.rollout.preview?.reported], ['B', 0]);
    fleet.preview('B', [0, 1, 2, 3], {}).look();
    assert.equal(phaseOf(fleet), 'Progressing canary B A');
  });

  test('stops again if it is tried again, and an agent keeps its preview for longer than one takes', () => {
    const fleet = begin(canary, two).preview('B', [0, 1], broken).look();
    fleet.set(RETRY).pass(1).look();
    fleet.preview('B', [0], {}).look();
    assert.deepEqual([fleet.rollout.phase], ['Previewing']);
    fleet.now += 28_000;
    fleet.look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.preview?.failing], ['Stopped canary B A', 1]);
  });

  const gatedSecond: RolloutSpec = { waves: [{ name: 'first' }, { name: 'second', approval: true }] };
  for (const [what, spec, fits, first] of [
    ['waits for an approval after an unchanged wave', gatedSecond, fitting('11', '01', '01'), undefined],
    ['waits for an approval after a wave without gateways', gatedSecond, fitting('01', '01', '01'), {}],
    ['waits for a window that closed during the preview', canary, [[true], [true], [true]], {}],
  ] as const)
    test(`stops while it ${what}, if a gateway reports that late`, () => {
      const fleet = begin(spec, fits).preview('B', [0], first).preview('B', [1], {});
      if (spec === canary) fleet.more = SHUT;
      lookAfter(fleet, 30_000);
      assert.match(phaseOf(fleet), /^Awaiting(Approval|Window) /);
      assert.deepEqual([fleet.rollout.preview?.reported, fleet.rollout.admittedAt], [2, undefined]);
      fleet.preview('B', [2], broken).pass(5).look();
      assert.equal(fleet.rollout.phase, 'Stopped');
      assert.deepEqual([fleet.rollout.preview?.reported, fleet.rollout.preview?.failing], [3, 1]);
      assert.ok(fleet.rollout.admission.every(({ admitted }) => admitted === ''));
    });

  test('goes on if a gateway reports that after another one was admitted, and keeps its counts', () => {
    const fleet = begin(canary, three).preview('B', [0, 1], {});
    lookAfter(fleet, 30_000);
    assert.equal(fleet.rollout.admitted, 2);
    fleet.preview('B', [2], broken).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.preview?.reported], ['Progressing canary B A', 2]);
  });

  test('does not stop for a gateway that was not ready before', () => {
    const fleet = withUnready().preview('B', [0], broken).preview('B', [1, 2], {}).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.preview?.failing], ['Progressing canary B A', 1]);
  });

  test('goes on after a retry if previewFailures is set to Ignore', () => {
    const spec: RolloutSpec = { ...canary };
    const fleet = begin(spec, two).preview('B', [0, 1], broken).look();
    spec.previewFailures = 'Ignore';
    fleet.look();
    assert.equal(phaseOf(fleet), 'Stopped canary B A');
    fleet.set(RETRY).pass(1).look();
    fleet.changeAll({ preview: undefined });
    fleet.look().preview('B', [0, 1], broken).look();
    assert.equal(phaseOf(fleet), 'Progressing canary B A');
  });

  test('stops instead of waiting for an approval or a window, unless another commit is in progress', () => {
    const fleet = begin(gatedCanary, two, shut).preview('B', [0], broken).preview('B', [1], {}).look();
    assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Stopped canary B A', undefined]);
    const other = begin(gatedCanary, two).preview('B', [0, 1], {}).look().approve().look().pass(1).look('C');
    other.preview('C', [0], broken).preview('C', [1], {}).look('C');
    assert.deepEqual([phaseOf(other), other.rollout.nextCommit], ['Progressing canary B A', 'C']);
    assert.match(other.message, /;.* 2 of 2 .*; .* 1;/);
  });
});

suite('a commit that cannot be delivered, after another one that waits or has failed,', () => {
  const failing = (fleet: Fleet, more: object = PREVIEW) => {
    lookAfter(fleet, 60_000, 'C', more);
    return fleet.preview('C', [0], { failure: 'check' }).preview('C', [1], {}).look('C', more);
  };

  test('stops at once if no gateway is admitted to the other one', () => {
    const fleet = begin(canary, two).preview('B', [0, 1], {}).look('B', SHUT);
    assert.equal(phaseOf(fleet), 'AwaitingWindow canary B A');
    assert.equal(phaseOf(failing(fleet, SHUT)), 'Stopped canary C A');
  });

  test('stops with the write that ends the rollback of the other one', () => {
    const fleet = begin({ ...canary, onFailure: 'Rollback' }, two);
    fleet.preview('B', [0, 1], {}).look().fail(0).look();
    assert.equal(phaseOf(failing(fleet, SHUT)), 'RollingBack B A');
    const back = { rollout: fleet.rollout.number, commit: 'A', revision: 'r', state: 'healthy' as const };
    fleet.changeAll({ report: back }).look('C', SHUT);
    assert.equal(phaseOf(fleet), 'Stopped canary C A');
  });

  test('waits for its approval with a warning if gateways have the other one', () => {
    const fleet = begin({ ...gatedCanary, onFailure: 'Stop' }, two);
    fleet.preview('B', [0, 1], {}).look().approve().look().fail(0).look();
    assert.equal(phaseOf(fleet), 'Stopped canary B A');
    assert.deepEqual([phaseOf(failing(fleet)), fleet.rollout.nextCommit], ['Stopped canary B A', 'C']);
    assert.match(fleet.message, /;.*;.* A\b/);
  });
});

test('a commit that cannot be delivered asks for no approval after another one stopped before the first wave', () => {
  const fleet = begin(gatedCanary, two);
  for (const commit of ['B', 'C']) {
    fleet.pass(1).look(commit);
    fleet.preview(commit, [0, 1], { failure: 'check' }).look(commit);
    assert.equal(phaseOf(fleet), `Stopped canary ${commit} A`);
  }
});

suite('an approval of a release that replaces another one', () => {
  const gated: RolloutSpec = { waves: ['canary', 'all'].map((name) => ({ name, approval: true })) };
  const fits = fitting('11', '01', '01');
  const digest = (letter: string) => ({ digest: letter.repeat(64) });

  for (const [what, letter, phase] of [
    ['is asked for again', 'c', 'AwaitingApproval'],
    ['is enough', 'a', 'Progressing'],
  ] as const)
    test(`${what} if a gateway returns to the stable commit and then reports the change ${letter}`, () => {
      const fleet = begin(gated, fits, { previewMs: 0 }).approve().look();
      fleet.well(0).look();
      fleet.well(1).preview('C', [0, 2], digest('a'));
      // Compared with B, which is only on the first two.
      fleet.preview('C', [1], digest('b')).set(PREVIEW).look('C');
      assert.deepEqual([phaseOf(fleet), fleet.rollout.nextCommit], ['Progressing all B A', 'C']);
      fleet.approve().look('C');
      assert.deepEqual(fleet.rollout.approvals?.at(-1)?.digests, ['a'.repeat(32), 'b'.repeat(32)]);
      fleet.well(0);
      fleet.report([1], 'healthy', { commit: 'A' }).preview('C', [1], digest(letter)).look('C');
      assert.equal(phaseOf(fleet), `${phase} all C A`);
    });
});

test('a fabricated number of files fits into the status', () => {
  const fleet = begin(canary, two)
    .preview('B', [0], { files: 3 * BOUNDS.count })
    .look();
  assert.equal(fleet.rollout.preview?.files, BOUNDS.count);
});

test('templates that use the commit are named once', () => {
  const fleet = begin(canary, two).preview('B', [0, 1], { everyCommit: 'site/version.txt' }).look();
  const { message = '' } = fleet.rollout;
  assert.equal(message.split('site/version.txt').length, 2);
});

test('the counts of a completed rollout contain unchanged gateways', () => {
  const fleet = begin(canary, two).preview('B', [0, 1]).look().well(0, 1).look();
  assert.deepEqual([fleet.rollout.verified, fleet.rollout.total], [2, 2]);
});
