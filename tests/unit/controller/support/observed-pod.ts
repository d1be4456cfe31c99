import { type ObservedPod, projectPod } from '../../../../controller/watch/observed-pod.ts';

/** A gateway of the resource `ns/app`. */
export const observedPod: ObservedPod = {
  namespace: 'ns',
  name: 'gateway-0',
  uid: 'pod',
  crName: 'app',
  gatewayName: 'edge',
  profile: 'default',
  serviceAccountName: 'default',
  sidecar: 'present',
  live: true,
};

/** A ready gateway of the resource `ns/app`, as in the cache. */
export const runningPod: ObservedPod = projectPod({
  metadata: {
    namespace: 'ns',
    name: 'gateway-0',
    uid: 'pod',
    resourceVersion: '1',
    creationTimestamp: '2026-11-22T11:00:00Z',
    annotations: { 'sync.io/cr-name': 'app' },
  },
  spec: { initContainers: [{ name: 'sync-agent' }] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
});
