import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { Intent } from '../intent/choose-intent.ts';
import { type Answer, type Resolution, resolve } from '../intent/resolution.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { ObservedPod, ObservedReport } from '../watch/observed-pod.ts';
import {
  type AccessProblem,
  conditionOf,
  judgeConditions,
  mergeConditions,
  type Verdicts,
  wholeSeconds,
} from './conditions.ts';
import { discoverGateways, listed } from './discover-gateways.ts';
import { type Transition, transitionsOf } from './transitions.ts';

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
  /** Why agents do not get the rights or the token that they need. */
  accessProblems: AccessProblem[];
}

/** What is to be done about a resource. */
export interface Decision {
  status: GatewaySyncStatus;
  /** What is worth an event and a log line. */
  transitions: Transition[];
  /** The host is to be asked again after so many milliseconds, since something waits for it and no poll will do. */
  retryAfterMs: number | undefined;
}

/** Decides by what was observed; pure, so that every case can be written down as a test. */
export function decide(observation: Observation, now: number): Decision {
  const { gatewaySync, intent, answer } = observation;
  const resolution = resolve(gatewaySync, intent, answer);
  const status = statusOf(observation, resolution, now);
  const waits = status.lastRequest?.outcome === 'Pending' || status.lastPush?.outcome === 'Pending';
  const unresolved = conditionOf(status.conditions, 'RefResolved')?.status === 'False';
  const isDue = waits || unresolved || !gatewaySync.spec.polling.enabled;
  return {
    status,
    transitions: transitionsOf(gatewaySync.status, status),
    retryAfterMs: resolution.kind === 'failed' && isDue ? resolution.retryAfterMs : undefined,
  };
}

function statusOf(observation: Observation, resolution: Resolution, now: number): GatewaySyncStatus {
  const { gatewaySync, pods, missing, reportOf, accessProblems } = observation;
  const { status: before, spec, generation } = gatewaySync;
  const sync = syncFieldsOf(gatewaySync, resolution, now);
  const { gateways, counts } = discoverGateways({ gatewaySync, pods, missing, reportOf, commit: sync.lastSyncCommit });
  const verdicts = judgeConditions({
    gatewaySync,
    resolution,
    counts,
    accessProblems,
    profileProblems: spec.sync.problems ?? [],
    gatewayErrors: gateways
      .flatMap(({ syncStatus, podName, message }) =>
        syncStatus === 'Error' ? `${podName}: ${message ?? 'failed'}` : [],
      )
      .slice(0, 3),
  });
  return {
    ...sync,
    observedGeneration: generation,
    profileCount: Object.keys(spec.sync.profiles).length,
    discoveredGateways: listed(gateways),
    gateways: counts,
    conditions: mergeConditions(before.conditions, verdicts, { now, generation }),
  };
}

/** The fields that say what is followed; the target moves only together with its commit. */
function syncFieldsOf(
  { status: before, spec }: ObservedGatewaySync,
  resolution: Resolution,
  now: number,
): GatewaySyncStatus {
  const { discoveredGateways: _, gateways: __, conditions: ___, ...kept } = before;
  const fields = { ...kept, ...resolution.echo };
  if (resolution.kind === 'paused')
    return { ...fields, refResolutionStatus: before.refResolutionStatus ?? 'NotResolved' };
  const followed = resolution.kind === 'failed' ? resolution.known : resolution;
  if (!followed) return { ...fields, refResolutionStatus: 'Error' };
  const { target, resolved } = followed;
  const moved = before.lastSyncCommit !== resolved.commit;
  return {
    ...fields,
    observedRef: spec.git.ref,
    target,
    lastSyncRef: target.ref,
    lastSyncCommit: resolved.commit,
    lastSyncCommitShort: resolved.commit.slice(0, 8),
    lastSyncTime: moved || !before.lastSyncTime ? wholeSeconds(now) : before.lastSyncTime,
    refResolutionStatus: resolution.kind === 'failed' ? 'Error' : 'Resolved',
  };
}

/** The status while a query takes its time: Ready is Unknown, so that nobody takes the last state for the new one. */
export function resolvingStatus({ status, generation }: ObservedGatewaySync, now: number): GatewaySyncStatus {
  const verdicts: Verdicts = {};
  for (const { type, status: state, reason, message } of status.conditions ?? [])
    verdicts[type as keyof Verdicts] = { status: state, reason, message };
  const message = 'the repository is being asked';
  verdicts.Ready = { status: 'Unknown', reason: 'Resolving', message };
  if (!conditionOf(status.conditions, 'RefResolved'))
    verdicts.RefResolved = { status: 'Unknown', reason: 'Resolving', message };
  const conditions = mergeConditions(status.conditions, verdicts, { now, generation }).map((condition) => {
    const before = conditionOf(status.conditions, condition.type as keyof Verdicts);
    return condition.type === 'Ready' || !before ? condition : before;
  });
  return { ...status, refResolutionStatus: 'Resolving', conditions };
}
