import type { ObservedPod } from '../../../../controller/watch/observed-pod.ts';

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
