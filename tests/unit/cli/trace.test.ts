import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { ObservedEvent } from '../../../cli/client/gateway-objects.ts';
import type { Beyond } from '../../../cli/fleet/beyond.ts';
import { lastDelivery, MISSING, traceView } from '../../../cli/fleet/trace.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { gatewayCountsOf, gatewaySyncOf, syncReportOf } from '../../support/objects.ts';

const COMMIT = 'c0ffee11'.repeat(5);
const at = (time: string) => `2026-01-01T00:00:${time}Z`;

const gatewaySync = (status: GatewaySyncStatus): GatewaySync =>
  gatewaySyncOf({ status: { lastSyncCommit: COMMIT, ...status } });

const gateway = (name: string, state: object) => ({
  name,
  namespace: 'gateways',
  podName: name,
  syncStatus: 'Synced' as const,
  syncedCommit: COMMIT,
  ...state,
});

const resolved: ObservedEvent = {
  reason: 'RefResolved',
  message: 'main is c0ffee11, was 0000000',
  eventTime: at('10.400000'),
};
const applied: ObservedEvent = { reason: 'PushApplied', eventTime: at('10.410000') };
const pushed = { lastPush: { ref: 'refs/heads/main', at: at('10.100'), outcome: 'Applied' as const } };

const SHORT = 'c0ffee11';
/** Times and codes of the steps, and their gateways. */
const stepsOf = (view: ReturnType<typeof traceView>) =>
  view?.moments.map(({ ms, step, gateway: name }) => [ms, step, name].filter((part) => part !== undefined).join(' '));

suite('the output of kubectl stoker trace', () => {
  test('lists all steps in order, from the delivery to each disk', () => {
    const view = traceView(
      gatewaySync({
        ...pushed,
        lastSyncTime: at('10'),
        discoveredGateways: [gateway('a', { lastSyncTime: at('10.900'), lastSyncDuration: '450ms' })],
      }),
      [applied, resolved, { reason: 'Synced', eventTime: at('11.000000') }],
    );
    assert.deepEqual(stepsOf(view), [
      '0 Accepted',
      '300 Resolved',
      '310 Handled',
      '350 Started a',
      '800 Written a',
      '900 Ready',
    ]);
    const facts = [/ refs\/heads\/main$/, / refs\/heads\/main .* c0ffee11$/, / Applied$/, /^a /, /^a /];
    for (const [n, fact] of facts.entries()) assert.match(view?.moments[n]?.what ?? '', fact);
    assert.deepEqual(view?.missing, []);
  });

  test('shows the tag and the range that a release or a moved tag was chosen for', () => {
    const target = { ref: 'v1.4.2', range: '~1.4', source: 'Spec' as const };
    const lastRequest = { ref: 'v1.5.0', at: at('10.100'), outcome: 'Ignored' as const, message: 'v1.4.2 is followed' };
    const moved = { reason: 'TagMoved', message: `the tag v1.4.2 was moved from ${'0'.repeat(40)} to ${COMMIT}` };
    for (const event of [resolved, { ...moved, eventTime: at('10.400000') }]) {
      const view = traceView(gatewaySync({ target, lastRequest, lastSyncTime: at('10') }), [event]);
      assert.deepEqual(view?.followed, { tag: 'v1.4.2', range: '~1.4' });
      assert.deepEqual(stepsOf(view), ['0 Accepted', '300 Resolved']);
      assert.match(view?.moments[0]?.what ?? '', / v1\.5\.0$/);
      assert.match(view?.moments[1]?.what ?? '', / v1\.4\.2, .* ~1\.4, .* c0ffee11$/);
      assert.deepEqual(view?.missing, [MISSING.refused('Ignored', 'v1.4.2 is followed')]);
    }
  });

  test("begins with the delivery, even if the receiver's clock is ahead", () => {
    const discoveredGateways = [gateway('a', { lastSyncTime: at('10.900'), lastSyncDuration: '450ms' })];
    const lastPush = { ...pushed.lastPush, at: at('10.600') };
    const view = traceView(gatewaySync({ lastPush, lastSyncTime: at('10'), discoveredGateways }), [applied, resolved]);
    assert.deepEqual(stepsOf(view), ['0 Accepted', '0 Resolved', '0 Started a', '300 Written a']);
  });

  test('has the times of the gateways that the status only counts, from their reports', () => {
    const status = {
      ...pushed,
      lastSyncTime: at('10'),
      gateways: gatewayCountsOf({ total: 2 }),
      discoveredGateways: [gateway('a', { lastSyncTime: at('10.900') })],
    };
    const report = { crName: 'plant', gateway: 'b', state: 'Synced', commit: COMMIT, time: at('12.100') } as const;
    const reports = [syncReportOf({ metadata: { name: 'b' }, status: report })];
    const gatewaysIn = (beyond: Beyond) => {
      const view = traceView(gatewaySync(status), [], beyond);
      return { steps: stepsOf(view)?.filter((step) => step.includes('Written')), missing: view?.missing };
    };
    assert.deepEqual(gatewaysIn({ reports }), { steps: ['800 Written a', '2000 Written b'], missing: [] });
    assert.deepEqual(gatewaysIn({}), { steps: ['800 Written a'], missing: [MISSING.unlisted(1)] });
  });

  test('shows the outcome of a delivery that was rejected or brought no new commit', () => {
    const refused = { ref: 'x', at: at('20.000'), outcome: 'Ignored' as const, message: 'it is not allowed' };
    const ignored = traceView(gatewaySync({ lastRequest: refused, lastSyncTime: at('10') }), []);
    assert.deepEqual(ignored?.missing, [MISSING.refused('Ignored', 'it is not allowed')]);
    const silent = { ...pushed.lastPush, outcome: 'Ignored' as const };
    const unexplained = traceView(gatewaySync({ lastPush: silent, lastSyncTime: at('05') }), []);
    assert.deepEqual(unexplained?.missing, [MISSING.refused('Ignored')]);
    const discoveredGateways = [gateway('a', { lastSyncTime: at('06') })];
    const kept = traceView(gatewaySync({ lastRequest: refused, lastSyncTime: at('05'), discoveredGateways }), []);
    assert.equal(kept?.missing.at(-1), MISSING.kept('a', SHORT));
    const none = { metadata: { namespace: 'gateways', name: 'plant' }, spec: {}, status: { lastRequest: refused } };
    const without = { ...none, status: { ...none.status, discoveredGateways: [{ name: 'a', syncStatus: 'Pending' }] } };
    assert.equal(traceView(without as never, [])?.missing.at(-1), MISSING.absent('a', 'it', 'Pending'));
    // The status has a resolution of one second.
    for (const [lastSyncTime, isSame] of [
      [at('09.100'), true],
      [at('09.101'), false],
    ] as const)
      assert.equal(traceView(gatewaySync({ ...pushed, lastSyncTime }), [])?.missing.length, isSame ? 1 : 0);
  });

  test('is about the poll that found a newer commit after the last delivery', () => {
    const view = traceView(gatewaySync({ ...pushed, lastSyncTime: at('30') }), [applied]);
    assert.deepEqual(view?.delivery, { kind: 'poll', ref: 'main', at: at('30') });
    const target = { ref: 'v9', source: 'Push' as const };
    const named = traceView(gatewaySync({ ...pushed, lastSyncTime: at('30'), target }), [applied]);
    assert.equal(named?.delivery.ref, 'v9');
  });

  test("is about the delivery if the commit isn't clearly newer than its outcome", () => {
    const kindOf = (lastSyncTime: string, events: ObservedEvent[]) =>
      traceView(gatewaySync({ ...pushed, lastSyncTime }), events)?.delivery.kind;
    // The status has a resolution of one second.
    assert.equal(kindOf(at('11.410'), [applied]), 'push');
    assert.equal(kindOf(at('11.411'), [applied]), 'poll');
    assert.equal(kindOf(at('30'), []), 'push', 'nobody knows when it was handled');
    assert.equal(kindOf(at('30'), [{ ...applied, reason: 'PushIgnored' }]), 'push');
    assert.equal(kindOf(at('30'), [{ ...applied, eventTime: at('10.099') }]), 'push', 'that was an earlier one');
    assert.equal(kindOf(at('30'), [{ ...applied, eventTime: at('10.100') }]), 'poll');
    const { eventTime, ...old } = applied;
    assert.equal(kindOf(at('30'), [{ ...old, lastTimestamp: eventTime ?? null }]), 'poll', 'of an older API server');
    assert.equal(kindOf(at('30'), [{ ...old, eventTime: null }]), 'push');
  });

  test('uses the first event after the delivery, and the last query of the commit', () => {
    const view = traceView(gatewaySync({ ...pushed, lastSyncTime: at('10') }), [
      { reason: 'Synced', eventTime: at('12') },
      { reason: 'Synced', eventTime: at('11') },
      { reason: 'Synced', eventTime: at('09') },
      { ...applied, eventTime: at('13') },
      applied,
      { ...resolved, eventTime: at('10.200000') },
      resolved,
      { ...resolved, message: 'main is 00000000', eventTime: at('20') },
      { reason: 'RefResolved', eventTime: at('20') },
      { ...resolved, reason: 'Synced', eventTime: at('10.050') },
      { reason: 'RefResolved', message: 'main is c0ffee11' },
    ]);
    assert.deepEqual(stepsOf(view), ['0 Accepted', '300 Resolved', '310 Handled', '900 Ready']);
  });

  test('contains neither an unknown commit nor a repeated result', () => {
    const { status, ...rest } = gatewaySync({ ...pushed, lastSyncTime: at('10') });
    const { lastSyncCommit: _, ...without } = status ?? {};
    const view = traceView({ ...rest, status: without } as GatewaySync, [resolved]);
    assert.deepEqual(view?.delivery, { kind: 'push', ...pushed.lastPush });
    const { what = '', ...moment } = view?.moments.at(-1) ?? {};
    assert.match(what, / refs\/heads\/main$/);
    assert.deepEqual(moment, { step: 'Resolved', at: at('10.400000'), ms: 300 });
  });

  test("mentions that events can't be read", () => {
    assert.equal(traceView(gatewaySync(pushed), undefined)?.missing.at(-1), MISSING.events());
    assert.equal(traceView({ ...gatewaySync({}), status: {} } as GatewaySync, []), undefined);
  });
});

suite('the delivery of a trace', () => {
  const request = { ref: 'v1', id: 'i', by: 'github', at: at('10.000'), outcome: 'Applied' as const };

  test('is the last one with a time', () => {
    const kindOf = (status: GatewaySyncStatus) => {
      const { kind, ref, at: time } = lastDelivery(gatewaySync(status)) ?? {};
      return [kind, ref, time];
    };
    assert.deepEqual(kindOf({ lastRequest: request, ...pushed }), ['push', 'refs/heads/main', at('10.100')]);
    const later = { ...request, at: at('11.000') };
    assert.deepEqual(kindOf({ lastRequest: later, ...pushed }), ['request', 'v1', at('11.000')]);
    const target = { ref: 'v9', source: 'Request' as const };
    const noTime = {
      lastRequest: { ...request, at: 'yesterday' },
      lastPush: { ...pushed.lastPush, at: undefined },
    } as never;
    assert.deepEqual(kindOf({ ...(noTime as GatewaySyncStatus), lastSyncTime: at('09'), target }), [
      'poll',
      'v9',
      at('09'),
    ]);
    assert.deepEqual(kindOf({ lastSyncTime: at('09') }), ['poll', 'main', at('09')]);
    assert.deepEqual(kindOf({}), [undefined, undefined, undefined]);
  });

  test('begins with its sender', () => {
    const beginning = (by: string | undefined) =>
      traceView(
        gatewaySync({ lastRequest: { ...request, ...(by ? { by } : {}) }, lastSyncTime: at('10') } as never),
        [],
      )?.moments[0]?.step;
    for (const by of ['kubectl-stoker', 'kubectl-stoker-refresh']) assert.equal(beginning(by), 'Requested');
    assert.equal(beginning('manual'), 'Annotated');
    const { by: _, ...anonymous } = request;
    const view = traceView(gatewaySync({ lastRequest: anonymous, lastSyncTime: at('10') }), []);
    assert.match(view?.moments[0]?.what ?? '', / v1$/);
    assert.equal(view?.moments[0]?.step, 'Accepted');
    const poll = traceView(gatewaySync({ lastSyncTime: at('10') }), []);
    assert.match(poll?.moments[0]?.what ?? '', / main /);
    assert.equal(poll?.moments[0]?.step, 'Found');
  });

  test('shows gateways that had the commit before, or at an unknown time', () => {
    const discoveredGateways = [
      gateway('a', { lastSyncTime: at('09.999') }),
      gateway('b', { lastSyncTime: at('10.000') }),
      gateway('c', { syncStatus: 'Error', message: 'full' }),
    ];
    const view = traceView(gatewaySync({ lastRequest: request, lastSyncTime: at('10'), discoveredGateways }), []);
    assert.deepEqual(view?.missing, [MISSING.earlier('a', SHORT), MISSING.absent('c', SHORT, 'Error', 'full')]);
    assert.equal(stepsOf(view)?.at(-1), '0 Written b');
  });

  suite('during a rollout', () => {
    const OLD = '0'.repeat(40);
    const rollout = (state: object) =>
      ({ commit: COMMIT, stableCommit: OLD, summary: 'canary 1/1, waiting for approval', ...state }) as never;
    const asked = { ref: 'v2', at: at('10.100'), id: 'r1', outcome: 'Applied' as const };
    const target = { ref: 'v2', source: 'Request' as const, requestId: 'r1' };
    const on = (commit: string, ...names: string[]) =>
      names.map((name) => gateway(name, { syncedCommit: commit, lastSyncTime: at('20') }));
    const ready = { reason: 'Synced', eventTime: at('11.000000') };
    const hasReady = (view: ReturnType<typeof traceView>) =>
      view?.moments.some(({ step }) => step === 'Ready') === true;

    test('mentions once that all gateways were rolled back later, and still that they had the commit', () => {
      const discoveredGateways = [...on(OLD, 'a', 'b'), ...on('1'.repeat(40), 'late')];
      const status = { lastRequest: asked, target, lastSyncTime: at('10'), discoveredGateways };
      const view = traceView(gatewaySync({ ...status, rollout: rollout({ phase: 'RolledBack' }) }), [ready]);
      assert.ok(hasReady(view));
      const waiting = MISSING.waiting('late', '11111111', 'canary 1/1, waiting for approval');
      assert.deepEqual(view?.missing, [MISSING.rolledBack(2, '00000000'), waiting]);
    });

    test('shows why a commit was given up, and never that all gateways have it', () => {
      const failed = { ...asked, outcome: 'Failed' as const, message: 'no space on a' };
      const status = { lastRequest: failed, target, lastSyncTime: at('10'), discoveredGateways: on(OLD, 'a') };
      const view = traceView(gatewaySync({ ...status, rollout: rollout({ phase: 'RolledBack' }) }), [ready]);
      assert.ok(!hasReady(view));
      const reason = MISSING.failed('no space on a');
      assert.deepEqual(view?.missing, [reason, MISSING.rolledBack(1, '00000000')]);
      const again = { phase: 'Complete', stableCommit: COMMIT };
      const retried = traceView(
        gatewaySync({ ...status, discoveredGateways: on(COMMIT, 'a'), rollout: rollout(again) }),
        [ready],
      );
      assert.ok(!hasReady(retried));
      assert.deepEqual(retried?.missing, [reason, MISSING.retried()]);
    });

    test('shows why the tag that was chosen for a range was given up', () => {
      const failed = { ...asked, ref: 'refs/tags/v1.4.2', outcome: 'Failed' as const, message: 'it failed on a' };
      const range = { ref: 'v1.4.2', range: '~1.4', source: 'Spec' as const };
      const missing = (tag: string) =>
        traceView(gatewaySync({ lastRequest: failed, target: { ...range, ref: tag }, lastSyncTime: at('10') }), [])
          ?.missing;
      assert.deepEqual(missing('v1.4.2'), [MISSING.failed('it failed on a')]);
      assert.deepEqual(missing('v1.4.3'), [MISSING.refused('Failed', 'it failed on a')]);
    });

    test('shows what a gateway waits for before its admission', () => {
      const discoveredGateways = [
        ...on(OLD, 'a'),
        gateway('b', { syncedCommit: OLD, syncStatus: 'Error', message: 'full' }),
        gateway('c', { syncedCommit: undefined, syncStatus: 'Pending' }),
      ];
      const status = { lastRequest: asked, target, lastSyncTime: at('10'), discoveredGateways };
      const view = traceView(gatewaySync({ ...status, rollout: rollout({ phase: 'AwaitingApproval' }) }), []);
      assert.deepEqual(view?.missing, [
        MISSING.waiting('a', '00000000', 'canary 1/1, waiting for approval'),
        MISSING.absent('b', SHORT, 'Error', 'full'),
        MISSING.absent('c', SHORT, 'Pending'),
      ]);
    });
  });
});
