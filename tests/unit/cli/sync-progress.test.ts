import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { resourceView } from '../../../cli/fleet/fleet.ts';
import { type Asked, barsIn, judgeProgress, missingIn } from '../../../cli/fleet/sync-progress.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { Condition, GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { gatewayCountsOf, gatewaySyncOf, rolloutStatusOf } from '../../support/objects.ts';

const COMMIT = 'c0ffee11'.repeat(5);
const REVISION = syncRevision(gatewaySyncOf().spec.sync);
const asked: Asked = { id: '1', at: '2026-01-01T00:00:00.000Z', ref: 'v2', isRefresh: false };
const request = (outcome: 'Pending' | 'Applied' | 'Ignored' | 'Superseded', message = 'why') => ({
  lastRequest: { id: '1', ref: 'v2', at: asked.at, outcome, message },
});
const ready = (status: Condition['status'], message: string) => ({
  conditions: [{ type: 'Ready', status, reason: 'x', message, lastTransitionTime: asked.at }],
});
const counts = gatewayCountsOf({ total: 2, synced: 1, error: 1 });

interface Given {
  id?: string;
  paused?: boolean;
  from?: string;
}

const hubOf = ({ by = 'github', paused = false, id = '1', ...status }: HubGiven = {}): GatewaySync =>
  gatewaySyncOf({
    metadata: {
      name: 'hub',
      annotations: { 'sync.io/request-id': id, 'sync.io/requested-ref': 'v3', 'sync.io/requested-by': by },
    },
    spec: { paused },
    status,
  });
interface HubGiven extends GatewaySyncStatus {
  by?: string;
  paused?: boolean;
  id?: string;
}

const gatewaySync = (status: GatewaySyncStatus, { id = '1', paused = false, from }: Given = {}): GatewaySync =>
  gatewaySyncOf({
    metadata: { annotations: { 'sync.io/request-id': id, 'sync.io/requested-ref': 'v3' } },
    spec: { paused, webhook: { ...(from !== undefined && { from }) } },
    status: { observedGeneration: 1, lastSyncCommit: COMMIT, ...status },
  });

suite('the progress of a request', () => {
  const follower = (status: GatewaySyncStatus, from = 'hub') => gatewaySync(status, { from });
  const unsuitable = { ...ready('False', 'from').conditions[0], type: 'WebhookSource' } as Condition;
  const synced = { ...ready('True', ''), gateways: { ...counts, synced: 2, error: 0 } };
  const hub = hubOf();
  const waiting = /^[^:]+$/;
  const rows: [string, GatewaySync, kind: string, fact: RegExp, { by?: Asked; hub?: GatewaySync }?][] = [
    ["the controller hasn't seen it", gatewaySync(ready('True', 'from before')), 'waiting', waiting],
    ['its hub is unsuitable', follower({ conditions: [unsuitable] }), 'failed', /: from$/, { hub }],
    ['its hub has not moved yet', follower({}), 'waiting', waiting, { hub }],
    ['its hub is paused', follower({}), 'failed', / kubectl stoker resume hub /, { hub: hubOf({ paused: true }) }],
    [
      'its hub ignores the request',
      follower({}),
      'failed',
      /: hub .*\(Ignored\): why$/,
      { hub: hubOf(request('Ignored')) },
    ],
    ['its hub waits for the git server', follower({}), 'waiting', waiting, { hub: hubOf(request('Pending')) }],
    ['it handles the request of its hub', follower(request('Pending')), 'waiting', /: why$/, { hub }],
    [
      'the ref of its hub was only refreshed',
      follower({}),
      'failed',
      /sync hub --ref REF /,
      { hub: hubOf({ by: 'kubectl-stoker-refresh' }) },
    ],
    ['the git server is being queried', gatewaySync(request('Pending')), 'waiting', /: why$/],
    ["its ref isn't allowed", gatewaySync(request('Ignored')), 'failed', /^v2 .*\(Ignored\): why/],
    [
      "a ref that isn't allowed was only refreshed",
      gatewaySync({ ...request('Ignored'), ...synced }),
      'done',
      /^v2 .* c0ffee11: /,
      { by: { ...asked, isRefresh: true } },
    ],
    ['another request for its hub replaced it', follower({}), 'failed', / v3$/, { hub: hubOf({ id: '2' }) }],
    ['another request replaced it', gatewaySync({}, { id: '2' }), 'failed', / v3$/],
    ['the resource is paused', gatewaySync(request('Pending'), { paused: true }), 'failed', /^paused/],
    ['gateways are syncing', gatewaySync({ ...request('Applied'), ...ready('Unknown', '1/2') }), 'waiting', /: 1\/2$/],
    [
      'all gateways have the commit',
      gatewaySync({ ...request('Applied'), ...ready('True', '') }),
      'done',
      /^v2 .* c0ffee11: \D+$/,
    ],
  ];
  for (const [what, given, kind, fact, { by = asked, hub } = {}] of rows) {
    test(`is "${kind}" if ${what}`, () => {
      const progress = judgeProgress(given, by, hub);
      assert.equal(progress.kind, kind);
      assert.match(progress.says, fact);
    });
  }

  test('lists gateways with an error once no other gateway is syncing', () => {
    const bad = { name: 'x', namespace: 'a', podName: 'x', syncStatus: 'Error' as const, message: 'full' };
    const status = { ...request('Applied'), ...ready('False', ''), discoveredGateways: [bad] };
    assert.deepEqual(judgeProgress(gatewaySync({ ...status, gateways: counts }), asked).stuck, ['x: full']);
    for (const others of [{ pending: 1 }, { skewed: 1 }]) {
      const given = { ...status, gateways: { ...counts, total: 3, ...others } };
      assert.equal(judgeProgress(gatewaySync(given), asked).stuck, undefined);
    }
    assert.equal(judgeProgress(gatewaySync(status), asked).stuck, undefined, 'nobody has counted yet');
    const well = { ...status, gateways: counts, discoveredGateways: [{ ...bad, syncStatus: 'Synced' as const }] };
    assert.equal(judgeProgress(gatewaySync(well), asked).stuck, undefined);
    const { message: _, ...silent } = bad;
    const both = [silent, { ...silent, name: 'y', syncStatus: 'MissingSidecar' as const }];
    const progress = judgeProgress(gatewaySync({ ...status, gateways: counts, discoveredGateways: both }), asked);
    assert.deepEqual([progress.kind, progress.stuck], ['waiting', ['x: Error', 'y: MissingSidecar']]);
  });

  test('is "waiting" while the status is about another request or generation', () => {
    for (const other of [{ at: '2025-01-01T00:00:00.000Z' }, { ref: 'v1' }]) {
      const { lastRequest } = request('Applied');
      const status = { ...ready('True', ''), lastRequest: { ...lastRequest, ...other } };
      const { kind, says } = judgeProgress(gatewaySync(status), asked);
      assert.equal(kind, 'waiting');
      assert.match(says, /^[^:]+$/);
    }
    const earlier = { ...request('Applied'), ...ready('True', 'from before'), observedGeneration: 0 };
    assert.deepEqual(judgeProgress(gatewaySync(earlier), asked), {
      kind: 'waiting',
      says: 'v2 is c0ffee11: from before',
    });
    assert.equal(judgeProgress(gatewaySync(request('Applied')), asked).says, 'v2 is c0ffee11: ');
    const bare = { ...request('Pending'), lastRequest: { ...request('Pending').lastRequest, message: '' } };
    assert.doesNotMatch(judgeProgress(gatewaySync(bare), asked).says, /:/);
    const unnamed = { ...request('Ignored'), ...ready('True', ''), gateways: { ...counts, total: 0 } };
    assert.equal(
      judgeProgress(gatewaySync(unnamed), { ...asked, isRefresh: true }).says,
      'v2 is c0ffee11: no gateways',
    );
  });

  test('continues if the given-up commit comes with another revision of spec.sync', () => {
    const common = rolloutStatusOf({ commit: COMMIT, revision: REVISION, givenUp: [`${COMMIT} before`] });
    const complete = { ...common, phase: 'Complete' as const };
    const done = { ...request('Applied'), ...ready('True', ''), rollout: complete };
    assert.equal(judgeProgress(gatewaySync(done), asked).kind, 'done');
    const begun = { ...common, phase: 'Progressing' as const };
    const busy = { ...request('Applied'), ...ready('Unknown', ''), rollout: begun };
    assert.equal(judgeProgress(gatewaySync(busy), asked).kind, 'waiting');
    // A retry, or a later return: it is complete now.
    const again = { ...complete, givenUp: [`${COMMIT} ${REVISION}`] };
    const back = { ...request('Applied'), ...ready('True', ''), rollout: again };
    assert.equal(judgeProgress(gatewaySync(back), asked).kind, 'done');
  });

  test('contains the followed ref if the request was ignored', () => {
    const status = { ...request('Ignored'), ...ready('True', ''), target: { ref: 'main', source: 'Spec' as const } };
    assert.match(judgeProgress(gatewaySync(status), { ...asked, isRefresh: true }).says, /^main is c0ffee11/);
  });
});

suite('the gateways of a request', () => {
  const gatewayOf = (name: string, syncStatus: string, fields: object = {}) => ({
    name,
    namespace: 'a',
    podName: `${name}-0`,
    syncStatus,
    ...fields,
  });
  const fleet = (...discoveredGateways: object[]) => gatewaySync({ discoveredGateways } as GatewaySyncStatus);

  test('are drawn as one bar without waves', () => {
    const gateways = [
      gatewayOf('new', 'Synced', { syncedCommit: COMMIT }),
      gatewayOf('other', 'Synced', { syncedCommit: 'x' }),
      ...['Error', 'MissingSidecar', 'Paused', 'DryRun', 'Pending', 'Skewed'].map((state) => gatewayOf(state, state)),
    ];
    const [bar] = barsIn(resourceView(fleet(...gateways), {}));
    const looks = bar?.gateways?.map(({ name, pod, look }) => `${name} ${pod} ${look}`);
    assert.deepEqual([bar?.name, bar?.state], ['all', 'underWay']);
    assert.deepEqual(looks, [
      ...['new new-0 new', 'other other-0 onItsWay', 'Error Error-0 failed', 'MissingSidecar MissingSidecar-0 failed'],
      ...['Paused Paused-0 old', 'DryRun DryRun-0 old', 'Pending Pending-0 onItsWay', 'Skewed Skewed-0 onItsWay'],
    ]);
    assert.equal(barsIn(resourceView(fleet(gateways[0] ?? {}), {}))[0]?.state, 'done');
  });

  test("are listed with their obstacle if they don't have the commit", () => {
    const missing = missingIn(
      resourceView(
        fleet(gatewayOf('new', 'Synced', { syncedCommit: COMMIT }), gatewayOf('bad', 'Error', { message: 'full' })),
        {},
      ),
    );
    assert.deepEqual(missing, ['bad: full']);
    const [late = '', ...others] = missingIn(resourceView(fleet(gatewayOf('late', 'Pending', { message: '' })), {}));
    assert.match(late, /^late: .* agent /);
    assert.deepEqual(others, []);
  });

  test('are drawn as one bar for each wave', () => {
    const admission = ['canary', 'rest'].map((wave) => ({ wave, members: 'all', admitted: '' }));
    const rollout = { phase: 'Progressing', wave: 'rest', commit: COMMIT, plan: 'other', admission };
    assert.deepEqual(barsIn(resourceView(gatewaySync({ rollout } as never), {})), [
      { name: 'canary', state: 'done' },
      { name: 'rest', state: 'underWay' },
    ]);
  });

  test('are counted when the request is done', () => {
    const says = (changes: object) =>
      judgeProgress(
        gatewaySync({ ...request('Applied'), ...ready('True', ''), gateways: { ...counts, ...changes } }),
        asked,
      ).says;
    assert.match(says({ total: 1 }), /^v2 is c0ffee11: \D*$/);
    assert.match(says({ total: 2 }), /: \D*2\D*$/);
    assert.match(says({ paused: 1, dryRun: 2 }), /: \D*2 \D*3 /);
    assert.match(says({ total: 0 }), /no gateways$/);
    const uncounted = { total: 1, paused: undefined, dryRun: undefined };
    assert.equal(says(uncounted), says({ total: 1 }), 'of a version that counted less');
  });

  test('have the text of their rollout', () => {
    const rollout = { phase: 'Progressing', commit: COMMIT, revision: REVISION, summary: 'canary 1/2' };
    const judged = (changes: object) =>
      judgeProgress(
        gatewaySync({ ...request('Applied'), ...ready('Unknown', 'x'), rollout: { ...rollout, ...changes } } as never),
        asked,
      );
    assert.deepEqual(judged({}), { kind: 'waiting', says: 'v2 is c0ffee11: canary 1/2' });
    assert.deepEqual(judged({ message: 'words' }), { kind: 'waiting', says: 'v2 is c0ffee11: words' });
    for (const phase of ['Stopped', 'RollingBack', 'RolledBack'])
      assert.deepEqual(judged({ phase }), { kind: 'failed', says: 'canary 1/2' });
    const earlier = { commit: 'x', givenUp: [`${COMMIT} ${REVISION}`] };
    assert.deepEqual(judged(earlier), { kind: 'failed', says: 'canary 1/2' });
  });
});
