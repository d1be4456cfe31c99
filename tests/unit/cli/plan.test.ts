import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ChangeView, InspectionView } from '../../../cli/fleet/inspection.ts';
import { emptyPlan, planOfPreview } from '../../../cli/fleet/plan.ts';
import { isReplaced, isWaitOver, plannableCommit } from '../../../cli/fleet/plan-candidate.ts';
import { planOfAnswers } from '../../../cli/fleet/plan-of-answers.ts';
import { summarizePlan } from '../../../cli/fleet/plan-summary.ts';
import { type PlanView, plannedRelease, sectionsOf } from '../../../cli/fleet/plan-view.ts';
import { changeIn, changeText, effectOf, shownChange, verdictOf } from '../../../cli/fleet/plan-words.ts';
import { drawData } from '../../../cli/terminal/data.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import { rolloutKey } from '../../../shared/domain/rollout/waves.ts';
import { slow } from '../../support/depth.ts';
import {
  changing,
  digestFor,
  failing,
  NEW,
  OLD,
  type PreviewingGateway,
  planned,
  unchanged,
} from '../../support/planned-fleet.ts';

const planFor = (
  gateways: readonly PreviewingGateway[],
  ...more: Parameters<typeof planned> extends [unknown, ...infer R] ? R : never
) => {
  const { gatewaySync, preview, beyond } = planned(gateways, ...more);
  return planOfPreview(gatewaySync, preview, beyond);
};
const admissionOf = (wave: string, members = 'all') => ({ wave, members, admitted: '' });
const podsOf = (gateways: readonly { pod: string }[]) => gateways.map(({ pod }) => pod);
const reasonsIn = (groups: PlanView['failing']) => groups.map(({ why, gateways }) => [why, ...podsOf(gateways)]);
const groupsIn = ({ groups }: PlanView) => groups.map(({ paths, gateways }) => [paths.join(), ...podsOf(gateways)]);

suite('the plan of a preview', () => {
  test('has a group for each set of changes, the largest first, and the waves of its gateways', () => {
    const view = planFor([
      changing('a', ['modify x.conf']),
      changing('b', ['add y.conf', 'delete z.conf'], { tier: 'canary' }),
      changing('c', ['add y.conf', 'delete z.conf']),
      unchanged('d'),
    ]);
    assert.deepEqual(groupsIn(view), [
      ['add y.conf,delete z.conf', 'b', 'c'],
      ['modify x.conf', 'a'],
    ]);
    assert.equal(view.groups[0]?.files, 2);
    assert.deepEqual(podsOf(view.unchanged), ['d']);
    const others = { failing: 0, silent: 0, done: 0, skipped: 0 };
    assert.deepEqual(view.counts, { gateways: 4, changed: 3, unchanged: 1, files: 5, ...others });
    const waves = view.waves?.map(({ name, gateways, changed }) => `${name} ${gateways} ${changed}`);
    assert.deepEqual(waves, ['canary 1 1', 'shops 3 2', 'rest 0 0']);
    assert.equal(view.groups[0]?.gateways[0]?.wave, 'canary');
  });

  test('groups failures by their message', () => {
    const view = planFor([failing('a', 'no disk'), failing('b', 'no label'), failing('c', 'no label')]);
    assert.deepEqual(reasonsIn(view.failing), [
      ['no label', 'b', 'c'],
      ['no disk', 'a'],
    ]);
    assert.equal(verdictOf(view), 'fails');
  });

  const progressing: Partial<RolloutStatus> = { phase: 'Progressing', commit: NEW, nextCommit: undefined };
  const accepted: [what: string, rollout: Partial<RolloutStatus>][] = [
    ['is rolled out', progressing],
    ['waits for an approval', { phase: 'Complete', waitsFor: 'Approval' }],
    ['waits after another one stopped', { phase: 'Stopped', previewFailure: 'no disk', waitsFor: 'Approval' }],
  ];
  const endedAt = '2026-01-01T00:00:30Z';
  const unready = failing('a', 'no label');
  for (const [what, rollout] of accepted) {
    test(`skips a failing gateway that did not stop the commit, which ${what}`, () => {
      const view = planFor([unready, unchanged('b')], { rollout, preview: { endedAt, failing: 1 } });
      const [[why = '', ...pods] = [], ...others] = reasonsIn(view.skipped);
      assert.match(why, /: no label$/);
      assert.deepEqual([pods, others], [['a'], []]);
      assert.equal(verdictOf(view), 'changes');
    });
  }

  const fatal: [what: string, rollout: Partial<RolloutStatus>, more?: object][] = [
    ['stopped the commit', { ...progressing, phase: 'Stopped' }],
    ['was not counted yet', progressing, { preview: { endedAt, failing: 0 } }],
    ['failed during the preview', { phase: 'Complete', waitsFor: 'Approval' }, { preview: { failing: 1 } }],
    [
      'is not judged while gateways have another unfinished commit',
      { phase: 'Progressing', waitsFor: 'Approval', admittedAt: endedAt },
    ],
    ['fails despite previewFailures', progressing, { spec: { rollout: { previewFailures: 'Ignore' } } }],
  ];
  for (const [what, rollout, more] of fatal) {
    test(`fails if a failing gateway ${what}`, () => {
      const view = planFor([unready], { rollout, preview: { endedAt, failing: 1 }, ...more });
      assert.deepEqual([view.counts.failing, view.counts.skipped, verdictOf(view)], [1, 0, 'fails']);
    });
  }

  test('has the fields that the how-to guide lists', () => {
    const both = planFor([
      changing('a', ['modify x'], {}, { digest: 'x', everyCommit: 'x' }),
      failing('b', 'no label'),
      { name: 'c' },
      { name: 'd', state: 'Paused' },
      unchanged('e'),
      { name: 'f', report: { commit: NEW } },
    ]);
    const at = (name: string) => ({ gateway: name, pod: name, wave: 'shops' });
    const counts = { gateways: 6, changed: 1, failing: 1, silent: 1, unchanged: 1, done: 1, skipped: 1 };
    const none = { gateways: 0, changed: 0, failing: 0, silent: 0, unchanged: 0, done: 0, skipped: 0 };
    const group = { digest: digestFor('x'), files: 1, added: 0, modified: 1, deleted: 0, paths: ['modify x'] };
    const why = both.silent[0]?.why ?? assert.fail();
    assert.deepEqual(JSON.parse(drawData(both, 'json')), {
      namespace: 'gateways',
      name: 'plant',
      ref: 'main',
      commit: NEW,
      counts: { ...counts, files: 1 },
      waves: [
        { name: 'canary', ...none },
        { name: 'shops', ...counts },
        { name: 'rest', ...none },
      ],
      groups: [{ ...group, gateways: [at('a')] }],
      failing: [{ why: 'no label', gateways: [at('b')] }],
      silent: [{ why, gateways: [at('c')] }],
      skipped: [{ why: 'paused', gateways: [at('d')] }],
      unchanged: [at('e')],
      done: [at('f')],
      everyCommit: 'x',
    });
  });

  const foreign = { name: 'a', report: { commit: 'c'.repeat(40) }, preview: {} };
  const silent: [what: string, gateway: PreviewingGateway, fact: RegExp][] = [
    ['has no report', { name: 'a' }, /agent/],
    ['has no preview', { name: 'a', report: {} }, /preview/],
    ['has a problem', { name: 'a', report: { message: 'no git server' } }, /preview.*: no git server$/],
    ['previewed another commit', { name: 'a', report: {}, preview: { commit: OLD } }, /preview/],
    ['made its preview from a commit that it should not have', foreign, /preview.* cccccccc$/],
    ['previewed another revision', { name: 'a', report: {}, preview: { revision: 'x' } }, /preview/],
  ];
  for (const [what, gateway, fact] of silent) {
    test(`counts a gateway as changed if it ${what}`, () => {
      const view = planFor([gateway, unchanged('b')]);
      const [[why = '', ...pods] = [], ...others] = reasonsIn(view.silent);
      assert.match(why, fact);
      assert.deepEqual([pods, others], [['a'], []]);
      assert.equal(verdictOf(view), 'changes');
    });
  }

  test('ignores that a gateway is unchanged at another commit, or reports a failure as well', () => {
    const other = { ...unchanged('a'), report: { unchangedAt: OLD } };
    const { counts } = planFor([other, { ...unchanged('b'), preview: { failure: 'a conflict' } }]);
    assert.deepEqual([counts.changed, counts.failing, counts.unchanged], [1, 1, 0]);
  });

  test("doesn't count gateways that have the release, are paused, in a dry run, or without a sidecar", () => {
    const view = planFor([
      { name: 'a', report: { commit: NEW } },
      { name: 'b', report: {}, state: 'Paused' },
      { name: 'c', report: {}, state: 'DryRun' },
      { name: 'd', state: 'MissingSidecar' },
    ]);
    assert.deepEqual(podsOf(view.done), ['a']);
    assert.deepEqual(
      view.skipped.flatMap(({ gateways }) => podsOf(gateways)),
      ['b', 'c', 'd'],
    );
    assert.equal(new Set(view.skipped.map(({ why }) => why)).size, 3);
    assert.match(view.skipped[2]?.why ?? '', /\bsidecar\b/);
    assert.deepEqual([view.groups, verdictOf(view)], [[], 'changes'], 'the changes of skipped gateways are unknown');
    const edited = planFor([{ name: 'a', report: { commit: NEW, revision: 'x' } }]);
    assert.deepEqual([edited.counts.done, edited.counts.silent], [0, 1], 'it has the commit with other mappings');
  });

  test('has the changes that paused gateways, and those in a dry run, report', () => {
    const view = planFor([
      { ...changing('a', ['modify x']), state: 'Paused' },
      { ...changing('b', ['modify x']), state: 'DryRun' },
    ]);
    assert.deepEqual(podsOf(view.groups[0]?.gateways ?? []), ['a', 'b']);
    assert.deepEqual([view.counts.skipped, verdictOf(view)], [0, 'changes']);
  });

  test('skips paused gateways to which the commit cannot be delivered, unless the whole resource is paused', () => {
    const paused: PreviewingGateway = { ...unready, state: 'Paused' };
    const [[why = '', ...pods] = []] = reasonsIn(planFor([paused]).skipped);
    assert.match(why, /paused.*: no label$/);
    assert.deepEqual(pods, ['a']);
    assert.equal(verdictOf(planFor([paused], { spec: { paused: true } })), 'fails');
  });

  test('ignores a digest that the controller ignores', () => {
    const forged = { name: 'a', report: {}, preview: { digest: 'A'.repeat(64), modified: 1 } };
    assert.match(planFor([forged]).silent[0]?.why ?? '', /preview/);
  });

  test('has the message of a problem that the current commit has as well', () => {
    const view = planFor([{ name: 'a', report: { message: 'no label site' }, preview: {} }]);
    assert.match(summarizePlan(view).groups[0]?.who ?? '', /: no label site\)$/);
  });

  test('says that it is about an edit of spec.sync', () => {
    const view = planFor([changing('a', ['modify x'])], { rollout: { stableCommit: NEW, stableRevision: 'earlier' } });
    assert.match(summarizePlan(view).says, /^main \(bbbbbbbb\) .* spec\.sync .* 1 of 1 /);
  });

  test('has the wave, the name, and the profile of a pod, not those in its report', () => {
    const names = Array.from({ length: 300 }, (_, index) => `till-${index}`);
    const keys = names.map((name) => rolloutKey(name, name)).sort();
    const members = keys[29] ?? '';
    const victim = names.slice(200).find((name) => rolloutKey(name, name) > members) ?? '';
    const forged = names.find((name) => rolloutKey(name, victim) <= members) ?? '';
    assert.ok(victim && forged);
    const report = { gateway: forged, profile: 'other' };
    const view = planFor(
      names.map((name) => (name === victim ? { ...changing(name, ['modify x']), report } : unchanged(name))),
      {
        spec: { rollout: { waves: [{ name: 'canary', gateways: 30 }] } },
        rollout: { admission: [admissionOf('canary', members), admissionOf('rest')] },
      },
    );
    const expected = { gateway: victim, pod: victim, profile: 'default', wave: 'rest' };
    assert.deepEqual(view.groups[0]?.gateways, [expected]);
  });

  test("doesn't mix a fabricated list of paths into the group with the same digest", () => {
    const honest = changing('a', ['modify x.conf']);
    const liar = { ...honest, name: 'b', preview: { ...honest.preview, paths: ['modify harmless'] } };
    const view = planFor([liar, honest]);
    assert.deepEqual(groupsIn(view), [
      ['modify harmless', 'b'],
      ['modify x.conf', 'a'],
    ]);
  });

  test('covers 5,000 gateways, of which the status lists 200, even if pods are not readable', slow, () => {
    const names = Array.from({ length: 5_000 }, (_, index) => `till-${index}`);
    const fleet = planned(
      names.map((name, index) => (index % 2 ? unchanged(name) : changing(name, ['modify x']))),
      {
        spec: { rollout: { waves: [{ name: 'first', gateways: 1 }] } },
        rollout: { admission: [admissionOf('first'), admissionOf('rest')] },
      },
    );
    const { reports } = fleet.beyond;
    for (const beyond of [fleet.beyond, { reports }]) {
      const view = planOfPreview(fleet.gatewaySync, fleet.preview, beyond);
      assert.deepEqual([view.counts.changed, view.counts.unchanged, view.groups.length], [2_500, 2_500, 1]);
      assert.deepEqual(
        view.waves?.map(({ gateways }) => gateways),
        [5_000, 0],
      );
    }
  });

  test('has no waves if they select labels that are not readable', () => {
    const { gatewaySync, preview, beyond } = planned([changing('a', ['modify x'])]);
    const view = planOfPreview(gatewaySync, preview, { reports: beyond.reports });
    assert.equal(view.waves, undefined);
    assert.equal(view.counts.changed, 1);
  });

  test('names the SyncRelease', () => {
    const view = planFor([changing('a', ['modify x'])], { preview: { release: 'app-7' } });
    assert.equal(view.release, 'app-7');
    assert.equal(plannedRelease({ ...view, ref: 'main', commit: 'f'.repeat(40) }), 'main (ffffffff, app-7)');
    assert.equal(plannedRelease({ namespace: 'n', name: 'app' }), undefined);
  });

  test('has the counts of the status if reports are not readable', () => {
    const counts = { total: 40, reported: 30, unchanged: 20, failing: 1, files: 12 };
    const { gatewaySync, preview, beyond } = planned([changing('a', ['modify x'])], { preview: counts });
    const view = planOfPreview(gatewaySync, preview, { pods: beyond.pods });
    const { gateways, changed, failing, silent, unchanged: same, files } = view.counts;
    assert.deepEqual([gateways, changed, failing, silent, same, files], [40, 9, 1, 10, 20, 12]);
    assert.deepEqual(view.groups, []);
  });
});

suite('gateways with their own content', () => {
  test('are in one section if they change the same files', () => {
    const own = (name: string) => changing(name, ['modify name.txt'], {}, { digest: name });
    const view = planFor([own('a'), own('b'), changing('c', ['add x']), own('d')]);
    assert.equal(view.groups.length, 4);
    assert.deepEqual(
      sectionsOf(view).map(({ gateways, versions }) => [podsOf(gateways), versions]),
      [
        [['a', 'b', 'd'], 3],
        [['c'], 1],
      ],
    );
  });
});

suite('the release to plan', () => {
  const withRollout = (rollout: Partial<RolloutStatus>, options: Parameters<typeof planned>[1] = {}) =>
    planned([unchanged('a')], { ...options, rollout: { preview: undefined, ...rollout } }).gatewaySync;
  /** Returns the words and the verdict about a commit for which there is nothing to wait. */
  const settled = (gatewaySync: GatewaySync, commit?: string) => {
    const found = plannableCommit(gatewaySync, commit);
    assert.ok(found.kind === 'settled');
    const view = emptyPlan(gatewaySync, found);
    return { says: found.says, verdict: verdictOf(view), failing: view.failing.map(({ why }) => why) };
  };
  const own: Partial<RolloutStatus> = { nextCommit: undefined };
  const rows: [what: string, rollout: Partial<RolloutStatus>, kind: string, fact: RegExp][] = [
    ['waits, but is not previewed yet', {}, 'pending', /^bbbbbbbb .*preview/],
    ['is previewed next', { ...own, phase: 'Previewing', commit: NEW }, 'pending', /^bbbbbbbb .*preview/],
    ['waits for its preview', { nextPreviewAt: '2026-01-01T00:01:00Z' }, 'pending', /^b+ .* 2026-01-01T00:01:00Z/],
    ['waits for a retry', { waitsFor: 'Retry' }, 'pending', /^bbbbbbbb .* kubectl stoker retry$/],
    ['is being rolled out', { ...own, phase: 'Progressing' }, 'unavailable', /^aaaaaaaa .*preview/],
    ['is complete', { ...own, phase: 'Complete', commit: NEW }, 'settled', /bbbbbbbb .*complete/],
    ['is newer than the complete one', { ...own, phase: 'Complete' }, 'pending', /^bbbbbbbb .*preview/],
    ['was rolled back', { ...own, phase: 'RolledBack' }, 'settled', / aaaaaaaa$/],
    ['stopped', { ...own, phase: 'Stopped', message: 'a failed' }, 'settled', / aaaaaaaa /],
  ];
  for (const [what, rollout, kind, fact] of rows) {
    test(`is explained if it ${what}`, () => {
      const found = plannableCommit(withRollout(rollout));
      assert.equal(found.kind, kind);
      assert.match(found.kind === 'preview' ? '' : found.says, fact);
    });
  }

  test('contains the reason of a stop, and counts as a failure', () => {
    const message = 'a failed; run kubectl stoker retry plant';
    const { failing, verdict } = settled(withRollout({ ...own, phase: 'Stopped', message }));
    assert.deepEqual([failing, verdict], [[message], 'fails']);
    assert.equal(verdictOf(emptyPlan(planned([]).gatewaySync, { says: 'no commit waits' })), 'nothing');
  });

  test('is never another one than the user specified', () => {
    const saysOf = (phase: RolloutStatus['phase']) => {
      const { gatewaySync } = planned([unchanged('a')], {
        rollout: { phase, commit: OLD, stableCommit: phase === 'Complete' ? OLD : 'c'.repeat(40), nextCommit: NEW },
      });
      assert.equal(isWaitOver(gatewaySync, OLD), true);
      const found = plannableCommit(gatewaySync, OLD);
      return found.kind === 'preview' ? '' : `${found.kind}: ${found.says}`;
    };
    assert.match(saysOf('Complete'), /^settled: .*aaaaaaaa/);
    assert.match(saysOf('AwaitingApproval'), /^unavailable: .*aaaaaaaa/);
    assert.equal(plannableCommit(planned([]).gatewaySync, NEW).kind, 'preview');
  });

  test('is a failure if the specified commit was given up, even if the gateways were rolled back', () => {
    const gone = 'c'.repeat(40);
    const rows: Partial<RolloutStatus>[] = [
      { phase: 'RolledBack', commit: gone, givenUp: [`${NEW} r`], message: 'b failed on a' },
      { ...own, phase: 'Stopped', commit: NEW, message: 'b failed on a' },
    ];
    for (const rollout of rows) {
      const gatewaySync = withRollout(rollout);
      assert.equal(isWaitOver(gatewaySync, NEW), true);
      const { says, ...verdict } = settled(gatewaySync, NEW);
      assert.match(says, /^bbbbbbbb /);
      assert.deepEqual(verdict, { verdict: 'fails', failing: ['b failed on a'] });
    }
  });

  const EARLIER = 'e'.repeat(40);
  /** Makes a resource whose gateways have had `EARLIER` and then `OLD`. */
  const withHistory = (rollout: Partial<RolloutStatus>) => {
    const { gatewaySync } = planned([unchanged('a')], {
      rollout: { nextCommit: undefined, earlierCommits: [OLD, EARLIER], ...rollout },
    });
    return gatewaySync;
  };
  const newer: Partial<RolloutStatus>[] = [
    { phase: 'Progressing', commit: NEW },
    { phase: 'Complete', commit: OLD, nextCommit: NEW },
    { phase: 'RollingBack', commit: NEW, givenUp: [`${NEW} r`], preview: undefined },
  ];
  for (const rollout of newer) {
    test(`needs no wait if all gateways had it before a newer one, which is ${rollout.phase}`, () => {
      for (const commit of [OLD, EARLIER]) {
        const gatewaySync = withHistory(rollout);
        assert.equal(isWaitOver(gatewaySync, commit), true);
        assert.equal(settled(gatewaySync, commit).verdict, 'nothing');
      }
    });
  }

  test('is a failure if it was rolled back, although all gateways had it', () => {
    const gatewaySync = withHistory({ phase: 'RolledBack', givenUp: [`${EARLIER} r`], preview: undefined });
    assert.equal(settled(gatewaySync, EARLIER).verdict, 'fails');
    const edited = withHistory({ phase: 'Stopped', commit: OLD, givenUp: [`${OLD} other`], preview: undefined });
    assert.match(settled(edited, OLD).says, / aaaaaaaa/);
  });

  test('is replaced if the status named it, and no longer does', () => {
    const named = (rollout: Partial<RolloutStatus>, lastSyncCommit = OLD) => {
      const gatewaySync = withRollout({ ...own, commit: OLD, ...rollout });
      return { ...gatewaySync, status: { ...gatewaySync.status, lastSyncCommit } };
    };
    const others = named({});
    for (const before of [named({ commit: NEW }), named({ nextCommit: NEW }), named({}, NEW)]) {
      assert.equal(isReplaced(NEW, before, others), true);
      assert.equal(isReplaced(NEW, before, before), false);
    }
    assert.equal(isReplaced(NEW, others, others), false, 'it may not be resolved yet');
  });

  test('needs no wait after a rollback if the gateways have it, but one that is newer does', () => {
    const rolledBack = withRollout({ phase: 'RolledBack', commit: NEW });
    assert.deepEqual([isWaitOver(rolledBack, OLD), plannableCommit(rolledBack, OLD).kind], [true, 'settled']);
    const newest = 'c'.repeat(40);
    for (const phase of ['RolledBack', 'Stopped', 'Complete'] as const) {
      const status = withRollout({ phase, commit: NEW });
      assert.deepEqual([isWaitOver(status, newest), plannableCommit(status, newest).kind], [false, 'pending'], phase);
    }
  });

  test('needs no wait without previews, nor after their time', () => {
    assert.equal(isWaitOver(withRollout({}, { spec: { rollout: { previewTimeout: '0s' } } }), NEW), true);
    assert.equal(isWaitOver(planned([], { spec: { rollout: undefined } }).gatewaySync, NEW), true);
    const late = { reported: 0, total: 1, endedAt: '2026-01-01T00:01:00Z' };
    assert.equal(isWaitOver(planned([], { preview: late }).gatewaySync, NEW), true);
  });

  test('requires a rollout with previews', () => {
    const says = (spec: object) => {
      const found = plannableCommit(withRollout({}, { spec }));
      return found.kind === 'preview' ? '' : found.says;
    };
    assert.match(says({ rollout: undefined }), / spec\.rollout.* --ref$/);
    assert.match(says({ rollout: { previewTimeout: '0s' } }), / 0s.* --ref$/);
    const { gatewaySync } = planned([]);
    assert.notEqual(plannableCommit({ ...gatewaySync, status: {} }).kind, 'preview');
    assert.equal(plannableCommit(gatewaySync).kind, 'preview');
  });

  test('is previewed when all gateways have reported, or have it', () => {
    const { gatewaySync } = planned([unchanged('a')]);
    assert.equal(isWaitOver(gatewaySync, NEW), true);
    assert.equal(isWaitOver(gatewaySync, 'c'), false);
    assert.equal(isWaitOver(planned([unchanged('a')], { preview: { reported: 0 } }).gatewaySync, NEW), false);
    const complete = (commit: string) => withRollout({ phase: 'Complete', commit, stableCommit: commit });
    assert.deepEqual([isWaitOver(complete(NEW), NEW), isWaitOver(complete(OLD), NEW)], [true, false]);
    const late = (phase: RolloutStatus['phase']) =>
      planned([], { preview: { reported: 0, total: 1 }, rollout: { phase, commit: NEW, nextCommit: undefined } });
    assert.equal(isWaitOver(late('Previewing').gatewaySync, NEW), false);
    assert.equal(isWaitOver(late('Progressing').gatewaySync, NEW), true, 'the wait is over');
  });
});

suite('the plan of a ref', () => {
  const none = { answers: [], silent: [] };
  const view: InspectionView = { namespace: 'gateways', name: 'plant', kind: 'diff', ref: 'next', total: 9, ...none };
  const modified = { kind: 'modify', reason: 'ContentChanged' } as const;
  const change = (path: string, diff = ''): ChangeView => ({ ...modified, path, source: path, diff });
  const next = { ref: 'next', commit: NEW };
  const answer = (pod: string, changes: ChangeView[], more = 0) => ({ ...next, gateway: pod, pod, changes, more });

  test('groups gateways whose responses are identical', () => {
    const gateways = [...'abcdef'].map((pod) => {
      return { name: pod, pod, status: 'Synced', profile: 'p', wave: pod === 'a' ? 'canary' : 'rest' };
    });
    const plan = planOfAnswers(
      {
        ...view,
        answers: [
          answer('a', [change('x', '+1')], 3),
          answer('b', [change('x', '+1')], 3),
          answer('c', [change('x', '+2')]),
          answer('d', []),
          { ...answer('e', []), problem: 'no label' },
        ],
        silent: [{ gateway: 'f', pod: 'f', why: 'no response' }],
      },
      { gateways, waves: ['canary', 'rest'] },
    );
    assert.deepEqual(groupsIn(plan), [
      ['modify x (ContentChanged)', 'a', 'b'],
      ['modify x (ContentChanged)', 'c'],
    ]);
    assert.equal(plan.groups[0]?.files, 4);
    assert.deepEqual([plan.ref, plan.commit, plan.sampledFrom], ['next', NEW, 9]);
    const waves = plan.waves?.map(({ name, gateways: number }) => `${name} ${number}`);
    assert.deepEqual(waves, ['canary 1', 'rest 5']);
    const others = [plan.failing[0]?.why, plan.silent[0]?.why, podsOf(plan.unchanged)];
    assert.deepEqual(others, ['no label', 'no response', ['d']]);
  });

  test('groups identical contents from different sources', () => {
    const own = (pod: string, more: object = {}) =>
      answer(pod, [{ ...change('x', '+1'), source: `sites/${pod}/x`, ...more }]);
    const plan = planOfAnswers({ ...view, total: 2, answers: [own('a'), own('b')] }, { gateways: [], waves: [] });
    assert.deepEqual([plan.groups.length, plan.counts.gateways, plan.sampledFrom], [1, 2, undefined]);
    const unknown = { diff: undefined };
    const apart = { ...view, answers: [own('a', unknown), own('b', unknown)] };
    assert.equal(planOfAnswers(apart, { gateways: [], waves: [] }).groups.length, 2);
  });

  test('lists a limited number of paths, and counts all', () => {
    const changes = Array.from({ length: 2_000 }, (_, index) => change(`f${index}`));
    const plan = planOfAnswers({ ...view, total: 1, answers: [answer('a', changes, 5)] }, { gateways: [], waves: [] });
    assert.deepEqual([plan.groups[0]?.paths.length, plan.groups[0]?.files, plan.sampledFrom], [100, 2_005, undefined]);
    assert.equal(plan.waves, undefined);
  });
});

test('a listed change is split, and has a reason unless its kind implies it', () => {
  assert.deepEqual(shownChange('add a b (copy).txt (New)'), { kind: 'add', path: 'a b (copy).txt' });
  assert.deepEqual(shownChange('modify x (TakenOver)'), { kind: 'modify', path: 'x', reason: 'TakenOver' });
  assert.deepEqual(shownChange('ened/path.txt (ContentChanged)'), { path: 'ened/path.txt' });
  assert.deepEqual(shownChange('modify x (Forged)'), { kind: 'modify', path: 'x (Forged)' });
  assert.equal(changeText(changeIn('delete x (y) (NoLongerMapped)')), 'delete x (y) (NoLongerMapped)');
});

test('the effect of a plan is one clause', () => {
  const none = { gateways: 40, changed: 0, failing: 0, silent: 0, unchanged: 0, done: 0, skipped: 0, files: 0 };
  assert.match(effectOf(none), /^\D+ 40 gateways$/);
  const most = effectOf({ ...none, failing: 1, changed: 2, files: 1, silent: 4 });
  assert.match(most, /^\D+ 1 of 40 gateways, \D+ 2 \(1 file \D+\), and \D+ 4 \D+$/);
  const two = effectOf({ ...none, changed: 1, files: 6, skipped: 4 });
  assert.match(two, /^\D+ 1 of 40 gateways \(6 files \D+\) and \D+ 4$/);
  assert.match(effectOf({ ...none, skipped: 40 }), /^\D+ 40 of 40 gateways$/);
  assert.match(effectOf({ ...none, gateways: 1, silent: 1 }), /^\D+ 1 of 1 gateway\b/);
});
