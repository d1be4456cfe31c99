import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Condition } from '../../shared/api/gateway-sync-status.ts';
import { type Finding, type Level, ok, pageAt } from './finding.ts';
import { pageOfReason, todoOf } from './reasons.ts';

/** Checks what the controller says of a GatewaySync: a finding for each condition that is not as it should be. */
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

/** Reasons with which a condition that is True is not well. */
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
  'Complete',
];
/** Reasons that go away by themselves, or that somebody has chosen. */
const NO_FAULT = ['Syncing', 'InsecureIgnoreHostKey', 'AmbiguousRef', 'NoGateways'];

function levelOf({ type, status, reason }: Condition): Level {
  if (type === 'Stalled') return status === 'True' ? 'failed' : 'ok';
  if (status === 'True' && FINE.includes(reason)) return 'ok';
  // Gateways do not depend on what is posted at the host.
  return status === 'Unknown' || type === 'CommitStatus' || NO_FAULT.includes(reason) ? 'warning' : 'failed';
}

/** Ready and Stalled sum up the others: what one of these says already is not said again. */
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
    page: pageAt(pageOfReason(type, reason)),
  };
}
