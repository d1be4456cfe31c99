import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { validateProfiles } from '../../shared/domain/validate-profiles.ts';
import { type Resolution, resolve } from '../intent/resolution.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { conditionOf, mergeConditions, wholeSeconds } from './conditions.ts';
import { discoverGateways, listed } from './discover-gateways.ts';
import { judgeConditions } from './judge-conditions.ts';
import type { Observation } from './observation.ts';
import { type Transition, transitionsOf } from './transitions.ts';

/** What is to be done about a resource. */
export interface Decision {
  status: GatewaySyncStatus;
  /** What is worth an event and a log line. */
  transitions: Transition[];
  /** A request waits, or there is no commit yet: the host is to be asked again after so many milliseconds. */
  retryAfterMs: number | undefined;
}

/** Decides by what was observed; pure, so that every case can be written down as a test. */
export function decide(observation: Observation, now: number): Decision {
  const { gatewaySync, intent, answer } = observation;
  const resolution = resolve(gatewaySync, intent, answer);
  const status = statusOf(observation, resolution, now);
  const waits = status.lastRequest?.outcome === 'Pending' || status.lastPush?.outcome === 'Pending';
  const unresolved = conditionOf(status.conditions, 'RefResolved')?.status === 'False';
  return {
    status,
    transitions: transitionsOf(gatewaySync.status, status),
    retryAfterMs: resolution.kind === 'failed' && (waits || unresolved) ? resolution.retryAfterMs : undefined,
  };
}

function statusOf(observation: Observation, resolution: Resolution, now: number): GatewaySyncStatus {
  const { gatewaySync, pods, missing, reportOf } = observation;
  const { status: before, spec, generation } = gatewaySync;
  const sync = syncFieldsOf(gatewaySync, resolution, now);
  const { gateways, counts } = discoverGateways({ pods, missing, reportOf, commit: sync.lastSyncCommit });
  const verdicts = judgeConditions({
    gatewaySync,
    resolution,
    counts,
    profileProblems: validateProfiles(spec.sync),
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
