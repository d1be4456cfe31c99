import type { Intent } from '../intent/choose-intent.ts';
import type { Answer } from '../polling/shared-repository.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod } from '../watch/observed-pod.ts';
import type { ObservedReport } from '../watch/observed-report.ts';

/** All that a decision is made from. */
export interface Observation {
  gatewaySync: ObservedGatewaySync;
  intent: Intent;
  /** What the repository says; undefined while the resource is paused. */
  answer: Answer | undefined;
  /** Injected pods of the resource, in any phase. */
  pods: ObservedPod[];
  /** Pods that ask for the sidecar and have none. */
  missing: ObservedPod[];
  reportOf: (pod: ObservedPod) => ObservedReport | undefined;
}
