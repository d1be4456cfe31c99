import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { cardOf, detailOf } from '../../../cli/ui/views.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { SyncReport, SyncReportStatus } from '../../../shared/api/sync-report.ts';
import type { StoredRelease } from '../../../shared/domain/rollout/stored-release.ts';
import {
  gatewayCountsOf,
  gatewaySyncOf,
  rolloutStatusOf,
  type SpecInput,
  syncReportOf,
} from '../../support/objects.ts';
import { changing, NEW, planned, unchanged } from '../../support/planned-fleet.ts';
import { complete, storedRelease } from './stored-releases.ts';

const COMMIT = 'c0ffee11'.repeat(5);
const full = 'the volume is full';

const gateway = (name: string, state: Partial<DiscoveredGateway> = {}): DiscoveredGateway => ({
  name,
  namespace: 'plants',
  podName: `${name}-0`,
  syncStatus: 'Synced',
  syncedCommit: COMMIT,
  ...state,
});

function gatewaySync(gateways: DiscoveredGateway[], spec: Partial<SpecInput> = {}): GatewaySync {
  const total = gateways.length;
  const synced = gateways.filter(({ syncStatus }) => syncStatus === 'Synced').length;
  return gatewaySyncOf({
    metadata: { namespace: 'plants', name: 'north' },
    spec,
    status: {
      observedGeneration: 1,
      lastSyncCommit: COMMIT,
      discoveredGateways: gateways,
      gateways: gatewayCountsOf({ total, synced }),
      conditions: [
        { type: 'Ready', status: 'True', reason: 'Synced', message: 'x', lastTransitionTime: '2026-01-01T00:00:00Z' },
      ],
    },
  });
}

const report = (name: string, status: Partial<SyncReportStatus>): SyncReport =>
  syncReportOf({ metadata: { name, namespace: 'plants' }, status });

const detailIn = (...about: Parameters<typeof detailOf>) => detailOf(...about).detail;

suite('the data for the page', () => {
  test('has a state for each gateway, as in the bars of the command line', () => {
    const card = cardOf(
      gatewaySync([gateway('a'), gateway('b', { syncStatus: 'Error' }), gateway('c', { syncStatus: 'Skewed' })]),
      {},
    );
    assert.deepEqual(card.looks, ['new', 'failed', 'onItsWay']);
    assert.equal(card.state, 'ready');
  });

  test('has only numbers on the card of a large fleet, and those of the status if its gateways are unknown', () => {
    const names = Array.from({ length: 201 }, (_, index) => `g${index}`);
    const large = cardOf(gatewaySync(names.map((name) => gateway(name))), {});
    assert.deepEqual([large.looks, large.lookCounts], [[], { new: 201 }]);
    const unknown = gatewaySync([gateway('a')]);
    const parts = { error: 2, missingSidecar: 1, skewed: 3, pending: 3, paused: 1 };
    const status = { ...unknown.status, gateways: gatewayCountsOf({ total: 1_000, synced: 990, ...parts }) };
    const countsOf = (phase?: RolloutStatus['phase']) => {
      const rollout = phase && rolloutStatusOf({ phase, total: 1_000, admitted: 100, verified: 60, failed: 2 });
      return cardOf({ ...unknown, status: { ...status, ...(rollout && { rollout }) } }, {}).lookCounts;
    };
    assert.deepEqual(countsOf(), { failed: 3, onItsWay: 6, new: 990, old: 1 });
    assert.deepEqual(countsOf('Progressing'), { failed: 2, onItsWay: 38, new: 60, old: 900 });
    assert.deepEqual(countsOf('RollingBack'), { failed: 3, onItsWay: 6, old: 991 });
  });

  test('names the first gateways of a group, and lists the differences of a few', () => {
    const names = Array.from({ length: 30 }, (_, index) => `g${String(index).padStart(2, '0')}`);
    const broken = { syncStatus: 'Error' as const, message: full };
    const reports = names.map((name) => report(`${name}-0`, { changes: ['differs config/x (content)'] }));
    const { detail, gateways } = detailOf(gatewaySync(names.map((name) => gateway(name, broken))), { reports });
    const [wait] = detail.waits;
    assert.deepEqual([wait?.count, wait?.gateways], [30, names.slice(0, 6)]);
    assert.deepEqual([detail.differences.length, detail.different], [20, 30]);
    assert.partialDeepStrictEqual(gateways[0], { pod: 'g00-0', waitsFor: full, look: 'failed' });
  });

  test('lists files that differ, and distinguishes a dry run from drift', () => {
    const reports = [
      report('a-0', { changes: ['differs config/x (content)'] }),
      report('b-0', { state: 'DryRun', changes: ['add config/y'] }),
      report('c-0', {}),
    ];
    const { differences } = detailIn(gatewaySync([gateway('a'), gateway('b'), gateway('c')]), { reports });
    assert.deepEqual(differences, [
      { gateway: 'a', pod: 'a-0', kind: 'drift', files: ['differs config/x (content)'] },
      { gateway: 'b', pod: 'b-0', kind: 'dryRun', files: ['add config/y'] },
    ]);
  });

  test('offers the commands that have an effect', () => {
    assert.deepEqual(detailIn(gatewaySync([gateway('a')]), {}).offers, ['sync', 'pause']);
  });

  test('has the history and a rollback only if the releases can be read', () => {
    const content = { commit: `${COMMIT}2`, stableCommit: `${COMMIT}2` };
    const rollout = rolloutStatusOf({ ...content, release: 'north-2', stableRelease: 'north-2' });
    const { status, ...given } = gatewaySync([gateway('a')], { rollout: {} });
    const north = { ...given, status: { ...status, rollout } };
    const stored = { ...complete, namespace: 'plants', crName: 'north' };
    const releases = [1, 2].map((number) =>
      storedRelease(number, `${COMMIT}${number}`, { ...stored, release: `north-${number}` }),
    );
    const shown = (readable: StoredRelease[] | undefined) => {
      const { history, hasHistory, offers } = detailIn(north, { releases: readable });
      const canRollBack = offers.includes('rollback');
      return [history?.map(({ name }) => name), hasHistory, canRollBack];
    };
    assert.deepEqual(shown(releases), [['north-2', 'north-1'], true, true]);
    assert.deepEqual(shown([]), [[], true, false]);
    assert.deepEqual(shown(undefined), [undefined, true, false]);
  });

  test('names the users who approved a release', () => {
    const approval = { changes: 'none', by: 'alice', at: '2026-01-01T00:00:00Z' };
    const stored = { namespace: 'plants', crName: 'north', approvals: [approval] };
    const { history } = detailIn(gatewaySync([gateway('a')]), { releases: [storedRelease(1, COMMIT, stored)] });
    assert.deepEqual(
      history?.map(({ approvedBy }) => approvedBy),
      ['alice'],
    );
  });

  test('offers an approval of the release that waits until a user has approved it', () => {
    const { gatewaySync: given, preview } = planned([changing('a', ['modify x'])], {
      spec: { rollout: { waves: [{ name: 'shops', approval: true }] } },
    });
    const canApprove = (approvals: StoredRelease['approvals'] = []) => {
      const releases = [storedRelease(2, NEW, { approvals, revision: preview.revision })];
      return detailIn(given, { releases }).offers.includes('approve');
    };
    const approval = { changes: 'none', by: 'alice', at: '2026-01-01T00:00:00Z' };
    assert.equal(canApprove(), true);
    assert.equal(canApprove([approval]), true, 'it is about other changes');
    assert.equal(canApprove([{ ...approval, changes: preview.changes ?? '' }]), false);
  });

  test('contains no control characters from untrusted text', () => {
    const hostile = '\u202eevil\u0000 \u001b[31m<b>x</b>';
    const hostileOne = gatewaySync([gateway(hostile, { syncStatus: 'Error', message: hostile })]);
    const { detail, gateways } = detailOf(hostileOne, {});
    assert.doesNotMatch(JSON.stringify([detail, gateways]), /\u202e|\\u0000|\\u001b/);
    assert.match(detail.waits[0]?.why ?? '', /<b>x<\/b>/);
  });

  test('has the failing gateways of a preview that stopped the rollout', () => {
    const failing = { name: 'a', report: {}, preview: { failure: 'no label' } };
    const stopped = { phase: 'Stopped' as const, commit: NEW, nextCommit: undefined, previewFailure: 'no label (a)' };
    const { gatewaySync: given, beyond } = planned([failing, unchanged('b')], { rollout: stopped });
    const { plan } = detailIn(given, beyond);
    assert.deepEqual(plan?.failing, [{ who: '1 gateway (shops 1): a', why: 'no label' }]);
  });
});
