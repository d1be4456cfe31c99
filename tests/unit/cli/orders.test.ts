import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ProblemCode } from '../../../cli/client/problem.ts';
import { CAUSES, effectOfApproval } from '../../../cli/orders/approve.ts';
import { agreementOf, type OrderChange, type OrderEffect } from '../../../cli/orders/order-effect.ts';
import { effectOfPause, effectOfResume } from '../../../cli/orders/pause.ts';
import { effectOfRetry } from '../../../cli/orders/retry.ts';
import { effectOfRollback } from '../../../cli/orders/rollback.ts';
import { effectOfSync } from '../../../cli/orders/sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { StoredRelease } from '../../../shared/domain/rollout/stored-release.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import { gatewayCountsOf, gatewaySyncOf, rolloutStatusOf, type SpecInput } from '../../support/objects.ts';
import { changing, failing, type PreviewingGateway, planned, unchanged } from '../../support/planned-fleet.ts';
import { complete, storedRelease } from './stored-releases.ts';

const NEW = 'b'.repeat(40);
const OLD = 'a'.repeat(40);
const OLDER = 'c'.repeat(40);
const revision = syncRevision(gatewaySyncOf().spec.sync);
const rollout = rolloutStatusOf({
  number: 7,
  phase: 'Progressing',
  summary: 'canary 0/1',
  commit: NEW,
  ref: 'v2',
  revision,
  stableCommit: OLD,
  stableRef: 'v1',
  stableRevision: revision,
});
const done: RolloutStatus = { ...rollout, phase: 'Complete', summary: 'complete', stableCommit: NEW, stableRef: 'v2' };
const waves = [{ name: 'canary' }, { name: 'east', approval: true }, { name: 'west', approval: true }];

interface Given {
  rollout?: RolloutStatus | undefined;
  annotations?: Record<string, string>;
  labels?: Record<string, string>;
  spec?: Partial<SpecInput>;
  status?: Partial<GatewaySyncStatus> | undefined;
  total?: number;
}

const resource = ({ rollout: given = rollout, annotations = {}, labels = {}, spec, status, total = 2 }: Given = {}) =>
  gatewaySyncOf({
    metadata: { namespace: 'gateways', name: 'plant', annotations, labels },
    spec: { git: { repo: 'https://git.test/x', ref: 'main' }, rollout: { waves }, ...spec },
    status: { rollout: given, gateways: gatewayCountsOf({ total }), ...status },
  });

/** Checks an order by its annotations, by what a confirmation is about, and by a fact in its description. */
function isOrder(effect: OrderEffect, annotations: Record<string, string>, about: string[], fact: RegExp) {
  assert.ok(effect.kind === 'change');
  assert.deepEqual([effect.change, effect.about, effect.before], [{ annotations }, about, undefined]);
  assert.match(effect.says, fact);
}
const isWrong = (effectOf: () => OrderEffect, code: ProblemCode, message: RegExp) =>
  assert.throws(effectOf, { name: 'Problem', code, message });

suite('an approval', () => {
  const approve = { 'sync.io/approve': `${NEW}/${revision}` };
  const isRejected = (given: Given, code: ProblemCode, fact: RegExp, commit?: string) =>
    isWrong(() => effectOfApproval(resource(given), commit), code, fact);

  test('admits the commit in progress to the waves that wait for it', () => {
    for (const phase of ['Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow'] as const) {
      const effect = effectOfApproval(resource({ rollout: { ...rollout, phase } }), NEW);
      isOrder(effect, approve, ['east', 'west', 'no plan'], /^gateways\/plant: b{40} \(v2\) goes to waves east, west /);
    }
    const one = { spec: { rollout: { waves: waves.slice(0, 2) } }, rollout: { ...rollout, ref: NEW } };
    isOrder(effectOfApproval(resource(one), undefined), approve, ['east', 'no plan'], /: b{40} goes to wave east /);
    const off = { rollout: { waves, previewTimeout: '0s' } };
    const stopped: RolloutStatus = { ...rollout, phase: 'Stopped', nextCommit: OLDER, nextRevision: revision };
    const next = effectOfApproval(resource({ rollout: stopped, spec: off }), undefined);
    assert.match(next.says, new RegExp(`^gateways/plant: ${OLDER} goes to`));
  });

  test('is possible as soon as the wait for the previews is over, so that it covers the changes that were shown', () => {
    const begun = { commit: NEW, ref: 'v2', revision, startedAt: '2026-01-01T00:00:00Z' };
    const preview = { ...begun, total: 40, reported: 39, unchanged: 0, failing: 0, files: 0 };
    const next: RolloutStatus = { ...rollout, phase: 'Complete', commit: OLD, nextCommit: NEW, nextRevision: revision };
    const previewing: RolloutStatus = { ...rollout, phase: 'Previewing' };
    for (const [early, fact] of [
      [{ ...next, preview }, / b{40} .* 39 .* 40 /],
      [{ ...previewing, preview }, / b{40} .* 39 .* 40 /],
      [next, / b{40} \D*$/],
      [previewing, / b{40} \D*$/],
      [{ ...next, waitsFor: 'Retry' as const }, / b{40} .* kubectl stoker retry$/],
    ] as const)
      isRejected({ rollout: early }, 'NotPreviewed', fact);
    for (const over of [{ reported: 40 }, { endedAt: '2026-01-01T00:03:00Z' }])
      for (const waiting of [next, previewing]) {
        const ready = resource({ rollout: { ...waiting, preview: { ...preview, ...over } } });
        assert.equal(effectOfApproval(ready, undefined).kind, 'change');
      }
  });

  test('shows the effect according to the previews of this commit', () => {
    const counts = { total: 40, reported: 40, unchanged: 37, failing: 0, files: 5 };
    const preview = { commit: NEW, ref: 'v2', revision, startedAt: '2026-01-01T00:00:00Z', ...counts };
    const saysOf = (changes: object) =>
      effectOfApproval(resource({ rollout: { ...rollout, preview: { ...preview, ...changes } } }), NEW).says;
    assert.match(saysOf({}), /would change 3 of 40 gateways \(5 files in total\)\.$/);
    assert.match(saysOf({ commit: OLD }), /unknown\.$/);
    const late = { reported: 39, endedAt: '2026-01-01T00:03:00Z' };
    assert.match(saysOf(late), / Only 39 of 40 gateways /);
    // The approval covers the change of a paused gateway only.
    const { gatewaySync, beyond } = planned([{ ...failing('a', 'no label'), state: 'Paused' }], {
      spec: { rollout: { waves: [{ name: 'shops', approval: true }] } },
      preview: { ...late, total: 0, reported: 0 },
    });
    assert.match(effectOfApproval(gatewaySync, undefined, beyond).says, / it skips 1 of 1 gateway\.$/);
  });

  test('warns of a commit that stops at once, and takes an unfinished one from its gateways', () => {
    const endedAt = '2026-01-01T00:03:00Z';
    const { gatewaySync, beyond } = planned([failing('a', 'no label')], {
      spec: { rollout: { waves: [{ name: 'shops', approval: true }], windows: [{ kind: 'Deny' }] } },
      rollout: { phase: 'Stopped', admittedAt: endedAt, commit: OLDER },
      preview: { failing: 1, endedAt },
    });
    assert.match(effectOfApproval(gatewaySync, undefined, beyond).says, /\bwindow\b.*\. .* a{40}\.$/);
  });

  test('needs a new confirmation if gateways report other changes, or only some have reported', () => {
    const agreed = (gateways: readonly PreviewingGateway[], options: Parameters<typeof planned>[1] = {}) => {
      const spec = { rollout: { waves: [{ name: 'shops', approval: true }] } };
      const { gatewaySync, beyond } = planned(gateways, { spec, ...options });
      const effect = effectOfApproval(gatewaySync, undefined, options?.preview ? {} : beyond);
      assert.ok(effect.kind === 'change');
      return agreementOf(effect);
    };
    const fleet = [changing('a', ['modify x']), unchanged('b'), unchanged('c')];
    const shown = agreed(fleet);
    assert.equal(agreed([...fleet].reverse()), shown);
    assert.equal(agreed([...fleet, changing('d', ['modify x']), unchanged('e')]), shown, 'the same set of changes');
    const others: (readonly PreviewingGateway[])[] = [
      [changing('a', ['delete x']), unchanged('b'), unchanged('c')],
      [...fleet.slice(0, 2), changing('c', ['delete y'])],
      [...fleet.slice(0, 2), { name: 'c', report: {} }],
      [...fleet.slice(0, 1), failing('b', 'no label'), unchanged('c')],
      fleet.slice(1),
    ];
    for (const other of others) assert.notEqual(agreed(other), shown, JSON.stringify(other));
    // Without the reports, the numbers of the status are all that a user sees.
    const counts = { total: 40, reported: 40, unchanged: 39, files: 1, endedAt: '2026-01-01T00:03:00Z' };
    const counted = (changes: object = {}) => agreed(fleet, { preview: { ...counts, ...changes } });
    assert.equal(counted(), counted());
    for (const changes of [{ files: 4_000 }, { reported: 39 }]) assert.notEqual(counted(changes), counted());
  });

  test('counts once, unless spec.sync was edited after it, or gateways report other changes', () => {
    const approved = { annotations: approve };
    const { says, ...done } = effectOfApproval(resource(approved), undefined);
    assert.deepEqual(done, { kind: 'done' });
    assert.match(says, /^b{40} .* gateways\/plant\.$/);
    const times = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:01:00Z' };
    const counts = { total: 2, reported: 0, unchanged: 0, failing: 0, files: 0 };
    const preview = { commit: NEW, ref: 'v2', revision, ...times, ...counts };
    const approval = { approve: approve['sync.io/approve'], approvedRevision: rollout.revision };
    const handled: RolloutStatus = { ...rollout, handled: approval };
    assert.equal(effectOfApproval(resource({ ...approved, rollout: handled }), undefined).kind, 'done');
    const unknown: RolloutStatus = { ...handled, waitsFor: 'Approval', preview };
    assert.equal(effectOfApproval(resource({ ...approved, rollout: unknown }), undefined).kind, 'done');
    const waiting: RolloutStatus = { ...unknown, handled: { ...approval, approvedDigests: ['earlier'] } };
    for (const [outdated, cause] of [
      [waiting, CAUSES.changes],
      [omit(waiting, 'preview'), CAUSES.previews],
    ] as const) {
      const effect = effectOfApproval(resource({ ...approved, rollout: outdated }), undefined);
      assert.ok(effect.says.includes(` ${cause}.`), effect.says);
      assert.ok(effect.kind === 'change' && effect.before);
      assert.equal(effect.before.annotation, 'sync.io/approve');
      assert.equal(effect.before.isGone(resource({ rollout: outdated })), false);
      assert.equal(effect.before.isGone(resource({ rollout: { ...outdated, handled: {} } })), true);
      // The order is the same one before and after the earlier approval is removed.
      const again = effectOfApproval(resource({ rollout: outdated }), undefined);
      assert.ok(again.kind === 'change' && agreementOf(again) === agreementOf(effect));
    }
    const other = { 'sync.io/approve': OLDER };
    assert.equal(effectOfApproval(resource({ annotations: other, rollout: waiting }), undefined).kind, 'change');
  });

  test('is rejected while the resource is paused, or if spec.sync is another one than the shown one', () => {
    const edited = { ...rollout, revision: '2'.repeat(32) };
    isRejected({ spec: { paused: true } }, 'NotPreviewed', /paused/);
    isRejected({ rollout: edited }, 'NotPreviewed', /spec\.sync/);
  });

  test('is rejected if there is nothing to approve', () => {
    isRejected({ rollout: done }, 'NothingToDo', /^gateways\/plant .*: .*complete$/);
    isRejected({}, 'NothingToDo', new RegExp(` ${NEW}, .* ${OLD}$`), OLD);
    isRejected({ spec: { rollout: { waves: [{ name: 'canary' }] } } }, 'NothingToDo', / approval: true$/);
    isRejected({ spec: { rollout: undefined } }, 'NoRollout', /spec\.rollout/);
    isRejected({ status: { rollout: undefined } }, 'NoRollout', /kubectl stoker status/);
  });
});

suite('a retry', () => {
  const retry = { 'sync.io/retry-rollout': NEW };
  const stopped: RolloutStatus = { ...rollout, phase: 'Stopped' };

  test('starts a stopped or rolled back commit with its previous ref', () => {
    isOrder(effectOfRetry(resource({ rollout: stopped })), retry, [], / bbbbbbbb \(v2\) /);
  });

  test('of an earlier commit warns that it starts only if the ref leads to it', () => {
    const earlier = { rollout: { ...rollout, givenUp: [`${OLDER} ${revision}`] } };
    assert.match(effectOfRetry(resource(earlier)).says, /cccccccc .* ref /);
  });

  test('counts once, because the handled annotation is removed first', () => {
    const repeated = effectOfRetry(resource({ rollout: stopped, annotations: retry }));
    assert.deepEqual(omit(repeated, 'says'), { kind: 'done' });
    assert.match(repeated.says, /^gateways\/plant /);
    const handled: RolloutStatus = { ...stopped, handled: { retry: NEW } };
    const again = effectOfRetry(resource({ rollout: handled, annotations: retry })) as OrderChange;
    assert.equal(again.before?.annotation, 'sync.io/retry-rollout');
    assert.equal(again.before.isGone(resource({ rollout: handled })), false);
    assert.equal(again.before.isGone(resource({ rollout: stopped })), true);
    assert.equal(again.before.isGone(resource({ status: undefined })), true);
  });

  test('is rejected if nothing failed', () => {
    isWrong(() => effectOfRetry(resource()), 'NothingToDo', /^gateways\/plant .*: .* canary 0\/1$/);
  });
});

suite('a rollback', () => {
  const releases = [
    storedRelease(4, OLDER, { ...complete, ref: OLDER }),
    storedRelease(5, `${'c'.repeat(39)}d`, { ...complete, ref: 'v0' }),
    storedRelease(6, OLD, { ...complete, ref: 'v1' }),
    storedRelease(7, NEW, { ...complete, ref: 'v2' }),
  ].map((each) => ({ ...each, revision }));
  const inProgress: RolloutStatus = { ...rollout, release: 'plant-7', stableRelease: 'plant-6' };
  const finished: RolloutStatus = { ...done, release: 'plant-7', stableRelease: 'plant-7' };
  const back: RolloutStatus = { ...inProgress, phase: 'RolledBack' };
  const order = (value: string) => ({ 'sync.io/rollback': value });
  const about = (...commits: string[]) => commits.map((commit) => `${commit} ${revision}`);
  const effectOf = (given: Given, to: string, all: StoredRelease[] | undefined = releases) =>
    effectOfRollback(resource(given), { to, releases: all });

  test('goes to the previous release, or to the one with the given number or name', () => {
    const previous = effectOf({ rollout: finished }, 'previous');
    const fact = / 2 .* release 7 \(bbbbbbbb, v2\) .* release 6 \(aaaaaaaa, v1\),/;
    isOrder(previous, order('previous'), about(NEW, OLD), fact);
    const one = { rollout: finished, total: 1 };
    for (const to of ['4', 'plant-4'])
      isOrder(effectOf(one, to), order('plant-4'), about(NEW, OLDER), / gateway .* release 4 \(cccccccc\),/);
    const none = { status: { rollout: finished, gateways: undefined } };
    assert.match(effectOf(none, '6').says, / \(b+, v2\) .* \(a+, v1\)\./);
  });

  test('leaves the stable release for an older or a newer one if another release was rolled back already', () => {
    isOrder(effectOf({ rollout: back }, '4'), order('plant-4'), about(OLD, OLDER), / back .* release 6 .* release 4 /);
    isOrder(effectOf({ rollout: back }, '7'), order('plant-7'), about(OLD, NEW), / forward .* release 6 .* release 7 /);
  });

  test('to the previous release needs a new confirmation if that one has another spec.sync', () => {
    const edited = releases.map((each) => (each.number === 6 ? { ...each, revision: 'other' } : each));
    const [first, second] = [releases, edited].map((all) => effectOf({ rollout: finished }, 'previous', all));
    assert.notEqual(agreementOf(first as OrderChange), agreementOf(second as OrderChange));
  });

  test('of a rollout in progress needs no permission to list releases', () => {
    const effect = effectOfRollback(resource({ rollout: inProgress }), { to: 'previous', releases: undefined });
    isOrder(effect, order('previous'), about(NEW, OLD), / release 7 .* release 6 /);
  });

  const others = '6 \\(v1\\), 5 \\(v0\\), 4 \\(cccccccc\\)$';
  const stopped: RolloutStatus = { ...inProgress, phase: 'Stopped', previewFailure: 'x' };
  const oldest: RolloutStatus = { ...back, stableCommit: OLDER, stableRelease: 'plant-4' };
  const incomplete = [...releases, storedRelease(8, OLDER, { phase: 'Stopped' })];
  const refusals: [to: string, fact: RegExp, code: ProblemCode, rollout: RolloutStatus, all?: StoredRelease[]][] = [
    ['7', new RegExp(`^release 7 .*: .* ${others}`), 'InvalidRelease', finished],
    ['8', new RegExp(`^release 8 .*: .* ${others}`), 'InvalidRelease', finished, incomplete],
    ['9', new RegExp(`^release 9 .*: .* ${others}`), 'InvalidRelease', finished],
    [NEW, /^release b{40} /, 'InvalidRelease', finished, []],
    ['previous', /^[^:]*$/, 'NothingToDo', finished, []],
    ['previous', / release 7 \(bbbbbbbb, v2\): .* release 6 \(aaaaaaaa, v1\)$/, 'NothingToDo', stopped],
    ['previous', / --to: 7 \(v2\), 6 \(v1\), 5 \(v0\)$/, 'NothingToDo', oldest],
  ];
  for (const [to, message, code, given, all] of refusals)
    test(`is rejected with a message that matches ${message.source}`, () => {
      isWrong(() => effectOf({ rollout: given }, to, all), code, message);
    });

  test('is rejected if the releases that it depends on cannot be read', () => {
    for (const to of ['previous', '6'])
      isWrong(
        () => effectOfRollback(resource({ rollout: finished }), { to, releases: undefined }),
        'Forbidden',
        / gateways\/plant: /,
      );
  });
});

suite('a pause', () => {
  test('keeps the files unchanged, and its end delivers the current commit of the ref', () => {
    const { says, ...pause } = effectOfPause(resource());
    assert.match(says, / 2 /);
    assert.deepEqual(pause, { kind: 'change', change: { spec: { paused: true } }, about: [] });
    assert.match(effectOfPause(resource({ total: 1 })).says, /^\D* gateway /);
    assert.match(effectOfPause(resource({ total: 0 })).says, /^\D* gateways\b/);
    const paused = { spec: { paused: true } };
    assert.equal(effectOfPause(resource(paused)).kind, 'done');
    const { says: resumes, ...resume } = effectOfResume(resource(paused));
    assert.match(resumes, / 2 .* main\.$/);
    assert.deepEqual(resume, { kind: 'change', change: { spec: { paused: false } }, about: ['main'] });
    const status: GatewaySyncStatus = { target: { ref: 'v2', source: 'Request' } };
    assert.match(effectOfResume(resource({ ...paused, status })).says, / v2\.$/);
    assert.match(effectOfResume(resource({ ...paused, total: 0 })).says, /^\D* gateways /);
    assert.equal(effectOfResume(resource()).kind, 'done');
  });

  test('warns about a tool that resets the spec', () => {
    const keepers: [given: Given, keeper: string][] = [
      [{ labels: { 'kustomize.toolkit.fluxcd.io/name': 'x' } }, 'Flux'],
      [{ labels: { 'helm.toolkit.fluxcd.io/name': 'x' } }, 'Flux'],
      [{ annotations: { 'argocd.argoproj.io/tracking-id': 'x' } }, 'Argo CD'],
    ];
    for (const [given, keeper] of keepers) {
      const fact = new RegExp(` ${keeper} .* spec\\.paused`);
      assert.match(effectOfPause(resource(given)).says, fact);
      assert.match(effectOfResume(resource({ ...given, spec: { paused: true } })).says, fact);
    }
  });
});

suite('a sync', () => {
  const open = {
    'sync.io/requested-ref': 'v9',
    'sync.io/requested-at': '2026-01-01T00:00:00Z',
    'sync.io/requested-by': 'ci',
    'sync.io/request-id': 'r1',
  };

  test('requests the followed ref, as a webhook would', () => {
    const { says, change: asked, about } = effectOfSync(resource());
    assert.match(says, /\bmain\b/);
    assert.deepEqual(about, ['main', 'null']);
    assert.ok(typeof asked === 'function');
    const { annotations = {} } = asked(0);
    const { 'sync.io/request-id': id, ...others } = annotations;
    assert.match(String(id), /^[0-9a-f-]{36}~[0-9a-f]{12}$/);
    assert.deepEqual(others, {
      'sync.io/requested-ref': 'main',
      'sync.io/requested-at': '1970-01-01T00:00:00.000Z',
      'sync.io/requested-by': 'kubectl-stoker-refresh',
      'sync.io/requested-repo': '-',
    });
  });

  test('is refused for a resource that handles the requests for another one, which it names', () => {
    const follower = resource({ spec: { webhook: { from: 'hub' } } });
    isWrong(() => effectOfSync(follower), 'FollowsAnother', /^plant .* hub .* sync hub --ref REF --namespace gate/);
  });

  test('shows the request that it replaces', () => {
    const { says, about } = effectOfSync(resource({ annotations: open }));
    assert.match(says, / v9 by ci at 2026-01-01T00:00:00Z .* main\.$/);
    assert.deepEqual(JSON.parse(about[1] ?? ''), { ref: 'v9', by: 'ci', at: '2026-01-01T00:00:00Z', id: 'r1' });
    const bare = resource({ annotations: { 'sync.io/requested-ref': 'v9' } });
    assert.match(effectOfSync(bare).says, /: .* v9 /);
    const same = resource({ annotations: { ...open, 'sync.io/requested-ref': 'main' } });
    assert.match(effectOfSync(same).says, /resolved again/);
  });

  test('needs a new confirmation only if it would replace another request', () => {
    assert.equal(agreementOf(effectOfSync(resource())), agreementOf(effectOfSync(resource({ total: 9 }))));
    assert.notEqual(agreementOf(effectOfSync(resource())), agreementOf(effectOfSync(resource({ annotations: open }))));
    const pause = effectOfPause(resource());
    const resume = effectOfResume(resource({ spec: { paused: true } }));
    assert.notEqual(agreementOf(pause as OrderChange), agreementOf(resume as OrderChange));
  });
});
