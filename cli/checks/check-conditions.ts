import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Condition } from '../../shared/api/gateway-sync-status.ts';
import { type Finding, type Level, ok } from './finding.ts';
import { pageOfReason, todoOf } from './reasons.ts';

/** Checks the conditions of a GatewaySync: one finding for each condition with a problem. */
export function checkConditions({ status }: GatewaySync): Finding[] {
  const conditions = status?.conditions ?? [];
  const causes = conditions.filter(({ type }) => type !== 'Ready' && type !== 'Stalled');
  const findings = causes.filter((condition) => levelOf(condition) !== 'ok').map(findingOf);
  const ready = conditions.find(({ type }) => type === 'Ready');
  const rest = conditions
    .filter((condition) => !causes.includes(condition) && levelOf(condition) !== 'ok')
    .filter((condition) => !isExplained(condition, causes))
    .map(findingOf);
  const isReady = ready?.status === 'True' && findings.length + rest.length === 0;
  return isReady ? [ok('conditions/Ready', `Ready: ${ready.message}`)] : [...findings, ...rest];
}

/** Reasons of a condition with the status True that aren't a problem. */
const FINE = [
  'Resolved',
  'PinnedCommit',
  'Paused',
  'Valid',
  'Synced',
  'NoGateways',
  'Injected',
  'KnownHosts',
  'Granted',
  'Posting',
  'HubFound',
  'Complete',
];
/** Reasons that are temporary or intended. */
const NO_FAULT = ['Syncing', 'InsecureIgnoreHostKey', 'AmbiguousRef', 'NoGateways'];

function levelOf({ type, status, reason }: Condition): Level {
  if (type === 'Stalled') return status === 'True' ? 'failed' : 'ok';
  if (status === 'True' && FINE.includes(reason)) return 'ok';
  // Gateways don't depend on commit statuses.
  return status === 'Unknown' || type === 'CommitStatus' || NO_FAULT.includes(reason) ? 'warning' : 'failed';
}

/** Checks whether another finding already has the reason of Ready or Stalled, which summarize the other conditions. */
function isExplained({ reason }: Condition, causes: readonly Condition[]): boolean {
  const own = reason.startsWith('Rollout') ? reason.slice('Rollout'.length) : reason;
  return causes.some((cause) => levelOf(cause) !== 'ok' && (cause.reason === own || cause.reason === reason));
}

function findingOf(condition: Condition): Finding {
  const { type, reason, message } = condition;
  const todo = todoOf(reason);
  return {
    check: `conditions/${type}/${reason}`,
    level: levelOf(condition),
    says: `${type} has the reason ${reason}: ${message}`,
    ...(todo && { todo }),
    page: pageOfReason(type, reason),
  };
}
