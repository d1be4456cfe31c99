import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { conditionOf, mergeConditions, type Verdicts } from './conditions.ts';

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
