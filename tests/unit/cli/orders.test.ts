import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { NewApproval } from '../../../cli/client/approve-release.ts';
import type { ProblemCode } from '../../../cli/client/problem.ts';
import { effectOfApproval } from '../../../cli/orders/approve.ts';
import { agreementOf, type OrderChange, type OrderEffect } from '../../../cli/orders/order-effect.ts';
import { effectOfPause, effectOfResume } from '../../../cli/orders/pause.ts';
import { effectOfRetry } from '../../../cli/orders/retry.ts';
import { effectOfRollback } from '../../../cli/orders/rollback.ts';
import { effectOfSync } from '../../../cli/orders/sync.ts';
import { BOUNDS } from '../../../shared/api/bounds.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { StoredRelease } from '../../../shared/domain/rollout/stored-release.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import { gatewayCountsOf, gatewaySyncOf, rolloutStatusOf, type SpecInput } from '../../support/objects.ts';
import {
  changing,
  digestFor,
  failing,
  type PreviewingGateway,
  planned,
  unchanged,
} from '../../support/planned-fleet.ts';
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
  const CHANGES = '1'.repeat(32);
  const OTHER = '2'.repeat(32);
  const named: RolloutStatus = { ...rollout, release: 'plant-7' };
  const ended = { startedAt: '2026-01-01T00:00:00Z', endedAt: '2026-01-01T00:03:00Z' };
  const counts = { total: 40, reported: 40, unchanged: 37, failing: 0, files: 5 };
  const preview = { commit: NEW, ref: 'v2', revision, ...ended, ...counts, digests: ['one', 'two'], changes: CHANGES };
  const previewed: RolloutStatus = { ...named, preview };
  const next: RolloutStatus = {
    ...previewed,
    phase: 'Complete',
    commit: OLD,
    release: 'plant-6',
    nextCommit: NEW,
    nextRevision: revision,
    nextRelease: 'plant-7',
  };
  const previewsOff = { rollout: { waves, previewTimeout: '0s' } };
  type Wanted = Parameters<typeof effectOfApproval>[1];

  const effectOf = (given: Given, wanted?: Wanted, approvals?: StoredRelease['approvals']) =>
    effectOfApproval(resource({ rollout: previewed, ...given }), wanted, {
      releases: approvals && [storedRelease(7, NEW, { approvals, revision })],
    });
  const isRejected = (given: Given, code: ProblemCode, fact: RegExp, wanted?: Wanted) =>
    isWrong(() => effectOf(given, wanted), code, fact);

  /** Checks the approval that would be added, and a fact in its description. */
  function isApproval(effect: OrderEffect, approval: Partial<NewApproval>, fact: RegExp) {
    assert.ok(effect.kind === 'approval');
    const release = { release: 'plant-7', commit: NEW, revision };
    const whole = { ...release, wave: undefined, changes: CHANGES, ...approval };
    assert.deepEqual(effect.approval, whole);
    assert.match(effect.says, fact);
  }

  test('names the release, and the changes that the status shows', () => {
    for (const phase of ['Progressing', 'Soaking', 'AwaitingApproval', 'AwaitingWindow'] as const) {
      const effect = effectOf({ rollout: { ...previewed, phase } }, { commit: NEW });
      isApproval(effect, {}, /^gateways\/plant: plant-7 \(b{40}, v2\) goes to waves east, west /);
    }
    isApproval(effectOf({ rollout: next }), {}, /: plant-7 \(b{40}, v2\) /);
    const one = { spec: { rollout: { waves: waves.slice(0, 2) } }, rollout: { ...previewed, ref: NEW } };
    isApproval(effectOf(one), {}, /: plant-7 \(b{40}\) goes to wave east /);
  });

  test('is of one wave if the user names it, which must have approval: true', () => {
    isApproval(effectOf({}, { wave: 'west' }), { wave: 'west' }, / goes to wave west /);
    for (const wave of ['canary', 'rest', ''])
      isRejected({}, 'InvalidArguments', new RegExp(` wave ${wave} .* east, west$`), { wave });
  });

  test('covers every change if the status shows none, and says so', () => {
    const every = { changes: 'none' };
    const other = { ...preview, commit: OLDER };
    isApproval(effectOf({ rollout: { ...named, phase: 'AwaitingApproval' } }), every, / every change /);
    isApproval(effectOf({ rollout: { ...named, preview: other } }), every, / every change /);
    isApproval(effectOf({ rollout: { ...next, preview: other }, spec: previewsOff }), every, / off: .* every change /);
    const many = { ...preview, digests: ['all'] };
    isApproval(effectOf({ rollout: { ...previewed, preview: many } }), {}, / every change /);
    assert.doesNotMatch(effectOf({}).says, /every change/);
  });

  test('is possible as soon as the controller has noted the changes of this release', () => {
    const early = { ...omit(preview, 'changes', 'endedAt'), reported: 39 };
    const edited = { ...preview, revision: OTHER };
    const previewing: RolloutStatus = { ...previewed, phase: 'Previewing' };
    for (const [given, fact] of [
      [{ ...next, preview: early }, / plant-7 .* 39 of 40 /],
      [{ ...previewing, preview: early }, / plant-7 .* 39 of 40 /],
      [{ ...next, preview: { ...early, reported: 0 } }, / plant-7 \D* no gateway /],
      [{ ...next, preview: edited }, / plant-7 \D*$/],
      [omit(next, 'preview'), / plant-7 \D*$/],
      [omit(previewing, 'preview'), / plant-7 \D*$/],
      [{ ...omit(next, 'preview'), waitsFor: 'Retry' }, / kubectl stoker retry$/],
      [omit(next, 'nextRelease'), / b{40} .* SyncRelease /],
    ] as [RolloutStatus, RegExp][])
      isRejected({ rollout: given }, 'NotPreviewed', fact);
    for (const given of [next, previewing]) assert.equal(effectOf({ rollout: given }).kind, 'approval');
    assert.equal(effectOf({ spec: { paused: true } }).kind, 'approval', 'the approval names what was shown');
  });

  const oneWave = [{ name: 'shops', approval: true }];
  const fleet = [changing('a', ['modify x']), unchanged('b'), unchanged('c')];

  /** Returns the effect for a fleet of gateways; without `isReadable`, for a user who can't list reports. */
  function effectFor(
    gateways: readonly PreviewingGateway[],
    { isReadable = true, spec = {}, ...options }: Parameters<typeof planned>[1] & { isReadable?: boolean } = {},
  ) {
    const given = planned(gateways, { spec: { rollout: { waves: oneWave }, ...spec }, ...options });
    const effect = effectOfApproval(given.gatewaySync, {}, isReadable ? given.beyond : {});
    assert.ok(effect.kind === 'approval');
    return effect;
  }

  test('is rejected while gateways report changes that the controller has not noted', () => {
    const unnoted = (digests: string[], isReadable = true) =>
      effectFor([...fleet, changing('d', ['modify y'])], { preview: { digests }, isReadable });
    const known = digestFor('modify x').slice(0, 32);
    assert.throws(() => unnoted([known]), { name: 'Problem', code: 'NotPreviewed' });
    assert.throws(() => unnoted([]), { name: 'Problem', code: 'NotPreviewed' });
    unnoted([known, digestFor('modify y').slice(0, 32)]);
    unnoted(['all']);
    unnoted([known], false);
    // There is no room for the changes of waves without approval.
    unnoted(Array.from({ length: BOUNDS.digests }, (_, index) => `${index}`));
  });

  test('shows the effect according to the previews of this release', () => {
    assert.match(effectOf({}).says, /would change 3 of 40 gateways \(5 files in total\)\.$/);
    const late = { ...preview, reported: 39 };
    assert.match(effectOf({ rollout: { ...previewed, preview: late } }).says, / Only 39 of 40 gateways /);
    // The approval covers the change of a paused gateway only.
    const { says } = effectFor([{ ...failing('a', 'no label'), state: 'Paused' }]);
    assert.match(says, / it skips 1 of 1 gateway\.$/);
  });

  test('shows that it covers changes that no gateway reports any longer', () => {
    const digests = ['gone', digestFor('modify x').slice(0, 32)];
    assert.match(effectFor(fleet, { preview: { digests } }).says, / 1 change .* earlier\.$/);
    const others = [...fleet, failing('d', 'no label')];
    for (const isReadable of [true, false])
      for (const gateways of [fleet, others]) assert.doesNotMatch(effectFor(gateways, { isReadable }).says, /earlier/);
  });

  test('warns of a release that stops at once, and takes an unfinished one from its gateways', () => {
    const { says } = effectFor([failing('a', 'no label')], {
      spec: { rollout: { waves: oneWave, windows: [{ kind: 'Deny' }] } },
      rollout: { phase: 'Stopped', admittedAt: ended.endedAt, commit: OLDER },
      preview: { failing: 1, ...ended },
    });
    assert.match(says, /\bwindow\b.*\. .* a{40}\.$/);
  });

  test('needs a new confirmation if the release, the wave, or the changes are others than those that were shown', () => {
    const agreed = (effect: OrderEffect) => {
      assert.ok(effect.kind === 'approval');
      return agreementOf(effect);
    };
    const shown = agreed(effectFor(fleet));
    assert.equal(agreed(effectFor([...fleet].reverse())), shown);
    const more = [...fleet, changing('d', ['modify x']), unchanged('e')];
    assert.equal(agreed(effectFor(more)), shown, 'the same set of changes');
    const others: (readonly PreviewingGateway[])[] = [
      [changing('a', ['delete x']), unchanged('b'), unchanged('c')],
      [...fleet.slice(0, 2), changing('c', ['delete y'])],
      [...fleet.slice(0, 1), failing('b', 'no label'), unchanged('c')],
      // A compromised gateway reports the digest of other changes.
      [...fleet, changing('d', ['modify z'], {}, { digest: 'modify x' })],
    ];
    for (const other of others) assert.notEqual(agreed(effectFor(other)), shown, JSON.stringify(other));
    const hidden = { isReadable: false };
    assert.equal(agreed(effectFor(fleet, hidden)), agreed(effectFor(fleet, hidden)));
    const changes = { preview: { changes: OTHER }, ...hidden };
    assert.notEqual(agreed(effectFor(fleet, hidden)), agreed(effectFor(fleet, changes)));

    const all = agreed(effectOf({}));
    assert.notEqual(agreed(effectOf({}, { wave: 'west' })), all);
    const renamed = { ...previewed, release: 'plant-8' };
    assert.notEqual(agreed(effectOf({ rollout: renamed })), all);
    const one = { spec: { rollout: { waves: waves.slice(0, 2) } } };
    assert.notEqual(agreed(effectOf(one)), all, 'a wave no longer needs it');
  });

  test('is not added again if one of the same changes and waves exists, by any user', () => {
    const at = '2026-01-01T00:05:00Z';
    const entry = { changes: CHANGES, by: 'alice', at };
    const isDone = (effect: OrderEffect) => {
      assert.equal(effect.kind, 'done');
      assert.match(effect.says, /^gateways\/plant: plant-7 .* alice\.$/);
    };
    isDone(effectOf({}, {}, [{ ...entry, changes: OTHER, by: 'bob' }, entry, entry]));
    isDone(effectOf({}, { wave: 'west' }, [entry]));
    isDone(effectOf({}, { wave: 'west' }, [{ ...entry, wave: 'west' }]));
    const others = [
      { ...entry, changes: OTHER },
      { ...entry, wave: 'east' },
    ];
    assert.equal(effectOf({}, {}, others).kind, 'approval');
    assert.equal(effectOf({}, { wave: 'west' }, others).kind, 'approval');

    const noted = (approvals: RolloutStatus['approvals'], changes: Partial<typeof preview> = {}) => ({
      rollout: { ...previewed, preview: { ...preview, ...changes }, approvals },
    });
    const approval = { release: 'plant-7', commit: NEW, revision, by: 'alice', digests: ['one', 'two', 'three'] };
    isDone(effectOf(noted([approval])));
    isDone(effectOf(noted([{ ...approval, digests: ['all'] }]), { wave: 'east' }));
    isDone(effectOf(noted([{ ...approval, wave: 'east' }]), { wave: 'east' }));
    for (const insufficient of [
      { ...approval, digests: ['one'] },
      { ...approval, wave: 'east' },
      { ...approval, release: 'plant-6' },
      { ...approval, commit: OLD },
    ])
      assert.equal(effectOf(noted([insufficient])).kind, 'approval');
    assert.equal(effectOf(noted([], { digests: [] })).kind, 'approval');
    const without = { ...named, phase: 'AwaitingApproval' as const, approvals: [approval] };
    assert.equal(effectOf({ rollout: without }).kind, 'approval', 'its preview was removed');
  });

  test('is rejected if there is nothing to approve', () => {
    isRejected({ rollout: done }, 'NothingToDo', /^gateways\/plant .*: .*complete$/);
    isRejected({}, 'NothingToDo', new RegExp(` ${NEW}, .* ${OLD}$`), { commit: OLD });
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
