import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  wakesOfGatewaySync,
  wakesOfPod,
  wakesOfReport,
  wakesOfRoleBinding,
} from '../../../../controller/reconcile/wakes.ts';
import type { ObservedGatewaySync } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../../../../controller/watch/observed-pod.ts';
import { gatewaySpec } from '../support/gateway-specs.ts';

const gatewaySync: ObservedGatewaySync = {
  ...{ namespace: 'ns', name: 'app', uid: 'uid', generation: 1, resourceVersion: '1', createdAt: 0, deleting: false },
  spec: gatewaySpec(),
  status: { observedGeneration: 1, observedRef: 'main', lastSyncCommit: 'a', target: { ref: 'main', source: 'Spec' } },
};

const pod: ObservedPod = {
  ...{ namespace: 'ns', name: 'gateway-0', uid: 'pod', crName: 'app', gatewayName: 'edge', profile: 'default' },
  ...{ serviceAccountName: 'default', sidecar: 'present', live: true },
};

/** A change of an object of that name. */
const change = <T>(key: string, object: T, previous?: T) => ({ type: 'upserted' as const, key, object, previous });
const keysOf = (wakes: { key: string }[]) => wakes.map(({ key }) => key);

suite('a GatewaySync wakes', () => {
  const wake = (fields: Partial<ObservedGatewaySync>, previous = gatewaySync) =>
    keysOf(wakesOfGatewaySync(change('ns/app', { ...gatewaySync, ...fields }, previous)));

  test('itself when it is new, edited, asked to move or made anew', () => {
    assert.deepEqual(keysOf(wakesOfGatewaySync(change('ns/app', gatewaySync))), ['ns/app']);
    assert.deepEqual(wake({ generation: 2 }), ['ns/app']);
    assert.deepEqual(wake({ request: { ref: 'v1', applied: false } }), ['ns/app']);
    assert.deepEqual(wake({ push: { ref: 'refs/heads/main', applied: false } }), ['ns/app']);
    assert.deepEqual(wake({ uid: 'another' }), ['ns/app']);
    assert.deepEqual(wake({ deleting: true }), ['ns/app']);
  });

  test('nobody when its status is written, or it is gone', () => {
    assert.deepEqual(wake({ resourceVersion: '2', status: {} }), []);
    assert.deepEqual(wakesOfGatewaySync({ type: 'deleted', key: 'ns/app', previous: gatewaySync }), []);
  });

  test('itself at once where somebody waits', () => {
    const [wake] = wakesOfGatewaySync(change('ns/app', { ...gatewaySync, request: { ref: 'v1', applied: false } }));
    assert.equal(wake?.priority, 'high');
  });
});

suite('a pod wakes', () => {
  test('whom it belongs to and whom it belonged to', () => {
    assert.deepEqual(keysOf(wakesOfPod(change('ns/gateway-0', pod))), ['ns/app']);
    assert.deepEqual(keysOf(wakesOfPod(change('ns/gateway-0', { ...pod, live: false }, pod))), ['ns/app']);
    const moved = change('ns/gateway-0', { ...pod, crName: 'other' }, pod);
    assert.deepEqual(keysOf(wakesOfPod(moved)), ['ns/app', 'ns/other']);
    assert.deepEqual(keysOf(wakesOfPod({ type: 'deleted', key: 'ns/gateway-0', previous: pod })), ['ns/app']);
  });

  test('nobody where nothing changed that counts, or it has no sidecar', () => {
    assert.deepEqual(wakesOfPod(change('ns/gateway-0', { ...pod }, pod)), []);
    assert.deepEqual(wakesOfPod(change('ns/gateway-0', { ...pod, sidecar: 'missing' })), []);
  });
});

suite('a report wakes', () => {
  const report = { podUID: 'pod', status: { state: 'Synced' as const } };
  const pods = { ownerOf: (key: string) => (key === 'ns/gateway-0' ? 'ns/app' : undefined) };

  test('the resource of its pod', () => {
    assert.deepEqual(keysOf(wakesOfReport(change('ns/gateway-0', report), pods)), ['ns/app']);
  });

  test('nobody where it says the same, or its pod is nobody’s', () => {
    assert.deepEqual(wakesOfReport(change('ns/gateway-0', { ...report }, report), pods), []);
    assert.deepEqual(wakesOfReport(change('ns/stranger', report), pods), []);
  });
});

suite('a RoleBinding wakes', () => {
  const binding = {
    namespace: 'ns',
    name: 'sync-agent-app',
    subjects: '',
    roleRef: 'r',
    podUIDs: [],
    ownerUID: 'u',
    isOurs: true,
  };

  test('the resource after which it is named, also when it is gone', () => {
    assert.deepEqual(keysOf(wakesOfRoleBinding(change('ns/sync-agent-app', binding))), ['ns/app']);
    const gone = { type: 'deleted' as const, key: 'ns/sync-agent-app', previous: binding };
    assert.deepEqual(keysOf(wakesOfRoleBinding(gone)), ['ns/app']);
  });

  test('nobody where it is named after none', () => {
    assert.deepEqual(wakesOfRoleBinding(change('ns/app', { ...binding, name: 'app' })), []);
  });
});
