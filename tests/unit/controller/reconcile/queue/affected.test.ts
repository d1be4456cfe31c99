import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  affectedByGatewaySync,
  affectedByPod,
  affectedByRelease,
  affectedByReport,
  affectedByRoleBinding,
  affectsFollowers,
  priorityOf,
} from '../../../../../controller/reconcile/queue/affected.ts';
import type { ObservedGatewaySync } from '../../../../../controller/watch/observed-gateway-sync.ts';
import { gatewaySpecOf } from '../../../../support/objects.ts';
import { observedPod as pod } from '../../support/observed-pod.ts';
import { observedReleaseOf } from '../../support/observed-release.ts';

const gatewaySync: ObservedGatewaySync = {
  namespace: 'ns',
  name: 'app',
  uid: 'uid',
  generation: 1,
  resourceVersion: '1',
  createdAt: 0,
  deleting: false,
  spec: gatewaySpecOf(),
  status: { observedGeneration: 1, observedRef: 'main', lastSyncCommit: 'a', target: { ref: 'main', source: 'Spec' } },
};

/** A change of an object with this name. */
const change = <T>(key: string, object: T, previous?: T) => ({ type: 'upserted' as const, key, object, previous });

const at = '2026-01-01T00:00:00.000Z';

suite('a change of a GatewaySync enqueues', () => {
  const affected = (fields: Partial<ObservedGatewaySync>, previous = gatewaySync) =>
    affectedByGatewaySync(change('ns/app', { ...gatewaySync, ...fields }, previous));

  test('itself when it is new, edited, requested to sync, or recreated', () => {
    assert.deepEqual(affectedByGatewaySync(change('ns/app', gatewaySync)), ['ns/app']);
    assert.deepEqual(affected({ generation: 2 }), ['ns/app']);
    assert.deepEqual(affected({ request: { ref: 'v1', applied: false, seenAt: 0 } }), ['ns/app']);
    assert.deepEqual(affected({ push: { ref: 'refs/heads/main', applied: false, seenAt: 0 } }), ['ns/app']);
    assert.deepEqual(affected({ uid: 'another' }), ['ns/app']);
    assert.deepEqual(affected({ deleting: true }), ['ns/app']);
  });

  test('nothing when only its status is written, or it is deleted', () => {
    assert.deepEqual(affected({ resourceVersion: '2', status: {} }), []);
    assert.deepEqual(affectedByGatewaySync({ type: 'deleted', key: 'ns/app', previous: gatewaySync }), []);
  });
});

test('a change of a GatewaySync affects its followers only if it changes the requests that they handle', () => {
  const affects = (fields: Partial<ObservedGatewaySync>) =>
    affectsFollowers(change('ns/app', { ...gatewaySync, ...fields }, gatewaySync));
  const spec = (fields: Parameters<typeof gatewaySpecOf>[0]) => ({ generation: 2, spec: gatewaySpecOf(fields) });
  const cases: [affects: boolean, fields: Partial<ObservedGatewaySync>][] = [
    [true, { status: { ...gatewaySync.status, target: { ref: 'v1', source: 'Request' } } }],
    [true, { status: { ...gatewaySync.status, target: { ref: 'v1', source: 'Request', requestedAt: at } } }],
    [false, { status: { ...gatewaySync.status, targetTime: at } }],
    [false, { request: { ref: 'v1', applied: false, seenAt: 0 } }],
    [true, { uid: 'another' }],
    [true, spec({ webhook: { from: 'hub' } })],
    [true, spec({ git: { repo: 'https://git.test/other.git', ref: 'main' } })],
    [false, spec({ paused: true })],
    [false, { push: { ref: 'refs/heads/main', applied: false, seenAt: 0 } }],
    [false, { resourceVersion: '2', status: { ...gatewaySync.status, profileCount: 9 } }],
  ];
  for (const [expected, fields] of cases) assert.equal(affects(fields), expected, JSON.stringify(fields));
  assert.ok(affectsFollowers(change('ns/app', gatewaySync)));
  assert.ok(affectsFollowers({ type: 'deleted', key: 'ns/app', previous: gatewaySync }));
});

test('a resource with a hub has high priority while its status lacks the result of a request for the hub', () => {
  const hub = { ...gatewaySync, name: 'hub' };
  const follower = { ...gatewaySync, spec: gatewaySpecOf({ webhook: { from: 'hub' } }) };
  const seen = {
    ...follower,
    request: { ref: 'v2', applied: false, seenAt: 0 },
  };
  const find = (request: object) => (key: string) => (key === 'ns/hub' ? { ...hub, ...request } : undefined);
  assert.equal(
    priorityOf(seen, find({ status: { target: { ref: 'v1', source: 'Request', requestedAt: at } } })),
    'high',
  );
  assert.equal(priorityOf(seen, find({})), 'low');
});

test('a resource has high priority while its status lacks the result of a request, and low priority otherwise', () => {
  assert.equal(priorityOf({ ...gatewaySync, request: { ref: 'v1', applied: false, seenAt: 0 } }), 'high');
  assert.equal(priorityOf(gatewaySync), 'low');
  assert.equal(priorityOf(undefined), 'low');
});

suite('a change of a pod enqueues', () => {
  test('the resource that it belongs to and its previous one', () => {
    assert.deepEqual(affectedByPod(change('ns/gateway-0', pod)), ['ns/app']);
    assert.deepEqual(affectedByPod(change('ns/gateway-0', { ...pod, live: false }, pod)), ['ns/app']);
    const moved = change('ns/gateway-0', { ...pod, crName: 'other' }, pod);
    assert.deepEqual(affectedByPod(moved), ['ns/app', 'ns/other']);
    assert.deepEqual(affectedByPod({ type: 'deleted', key: 'ns/gateway-0', previous: pod }), ['ns/app']);
  });

  test('nothing if no stored field changed, or it has no sidecar', () => {
    assert.deepEqual(affectedByPod(change('ns/gateway-0', { ...pod }, pod)), []);
    assert.deepEqual(affectedByPod(change('ns/gateway-0', { ...pod, sidecar: 'missing' })), []);
  });
});

suite('a change of a report enqueues', () => {
  const report = { podUID: 'pod', status: { state: 'Synced' as const } };

  test('the resource of its pod', () => {
    assert.deepEqual(affectedByReport(change('ns/gateway-0', report), pod), ['ns/app']);
  });

  test('nothing if its content is unchanged, or its pod belongs to no resource, or is unknown', () => {
    assert.deepEqual(affectedByReport(change('ns/gateway-0', { ...report }, report), pod), []);
    assert.deepEqual(affectedByReport(change('ns/gateway-0', report), { ...pod, sidecar: 'missing' }), []);
    assert.deepEqual(affectedByReport(change('ns/gateway-0', report), undefined), []);
  });
});

suite('a change of a SyncRelease enqueues', () => {
  const release = observedReleaseOf(1, 'a');

  test('the resource that it names if it is new, gone, or created again', () => {
    assert.deepEqual(affectedByRelease(change('ns/app-1', release)), ['ns/app']);
    assert.deepEqual(affectedByRelease({ type: 'deleted', key: 'ns/app-1', previous: release }), ['ns/app']);
    assert.deepEqual(affectedByRelease(change('ns/app-1', { ...release, uid: 'other' }, release)), ['ns/app']);
  });

  test('the resource that it names if it has another approval', () => {
    const approvals = [{ changes: 'none', by: 'anna', at: '' }];
    assert.deepEqual(affectedByRelease(change('ns/app-1', { ...release, approvals }, release)), ['ns/app']);
    const again = { ...release, approvals: structuredClone(approvals) };
    assert.deepEqual(affectedByRelease(change('ns/app-1', again, { ...release, approvals })), []);
  });

  test('nothing if only its result has changed', () => {
    assert.deepEqual(affectedByRelease(change('ns/app-1', { ...release, result: 'Complete' }, release)), []);
  });
});

suite('a change of a RoleBinding enqueues', () => {
  const binding = {
    namespace: 'ns',
    name: 'sync-agent-app',
    subjects: '',
    roleRef: 'r',
    podUIDs: [],
    ownerUID: 'u',
    isOurs: true,
  };

  test('the resource that it is named after, even when it is deleted', () => {
    assert.deepEqual(affectedByRoleBinding(change('ns/sync-agent-app', binding)), ['ns/app']);
    const gone = { type: 'deleted' as const, key: 'ns/sync-agent-app', previous: binding };
    assert.deepEqual(affectedByRoleBinding(gone), ['ns/app']);
  });

  test("nothing if it isn't named after a resource", () => {
    assert.deepEqual(affectedByRoleBinding(change('ns/app', { ...binding, name: 'app' })), []);
  });
});
