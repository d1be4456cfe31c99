import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_CONTAINER } from '../../shared/api/names.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { clockSkewOf, clockWords, type Stamped, TOLERATED_SKEW_MS } from '../../shared/domain/text/clock-skew.ts';
import { checkVolumeLock } from './check-volume-lock.ts';
import { type Findings, failed, ok, warning } from './finding.ts';
import { containerStatusesOf, type Pod } from './objects.ts';
import type { NamespaceSurvey } from './survey.ts';

/** Maximum time until an agent's first report (ms). */
const FIRST_REPORT_MS = 5 * 60_000;
const STATES = 'reference/conditions.md#states-of-a-gateway';
const REASONS = 'reference/agent-reasons.md';

interface About {
  survey: NamespaceSurvey;
  gatewaySync: GatewaySync | undefined;
  now: number;
}

/** Checks the report of a pod's agent. */
export function checkReport(pod: Pod, { survey, gatewaySync, now }: About): Findings {
  if (survey.reports.kind === 'hidden') return [];
  const { name, uid, creationTimestamp } = pod.metadata;
  const todo = `see kubectl logs ${name} -c sync-agent`;
  const report = survey.reports.value.find(({ metadata }) => metadata.name === name);
  const isNew = now - Date.parse(creationTimestamp) < FIRST_REPORT_MS;
  const make = isNew ? warning : failed;
  // The findings about the pod explain why its agent waits, and the agent has no log yet.
  if (!report?.status && isAgentWaiting(pod)) return [];
  if (!report?.status)
    return make('report/there', 'its agent has not reported', {
      todo: isNew ? `wait; if it persists, ${todo}` : todo,
      page: STATES,
    });
  if (report.status.podUID !== undefined && report.status.podUID !== uid)
    return make('report/pod', 'its report is from an earlier pod with the same name', {
      todo: `wait; if it persists, ${todo}`,
      page: STATES,
    });
  const state =
    checkVolumeLock(pod, report.status.message ?? '', survey) ?? checkState(report.status, { gatewaySync, todo });
  return [state, checkClock(report, { pod, gatewaySync })];
}

/** Checks the clock skew in the report, or else in the controller's status. */
function checkClock(
  report: Stamped,
  { pod, gatewaySync }: { pod: Pod; gatewaySync: GatewaySync | undefined },
): Findings {
  const listed = gatewaySync?.status?.discoveredGateways?.find(({ podName }) => podName === pod.metadata.name);
  const skewMs = clockSkewOf(report) ?? (listed?.clockSkew ?? 0) * 1000;
  if (Math.abs(skewMs) <= TOLERATED_SKEW_MS) return [];
  const node = pod.spec.nodeName ? ` ${pod.spec.nodeName}` : '';
  return warning('report/clock', clockWords(skewMs), {
    todo: `correct the clock of its node${node}: check that time synchronization (NTP) runs there`,
    page: STATES,
  });
}

const isAgentWaiting = (pod: Pod): boolean =>
  containerStatusesOf(pod).some(({ name, state }) => name === AGENT_CONTAINER && state?.waiting !== undefined);

function checkState(
  status: SyncReportStatus,
  { gatewaySync, todo }: { gatewaySync: GatewaySync | undefined; todo: string },
): Findings {
  const { state, reason, message, commit, crName, generation, verification, hasFailed } = status;
  const words = message ? `: ${message}` : '';
  const correct = message ? 'correct the problem in the message: the agent retries automatically' : todo;
  const inCommit = message ? 'push a corrected commit, or run kubectl stoker rollback' : todo;
  const fail = (check: string, says: string, advice = { todo: correct, page: STATES }) => failed(check, says, advice);
  const warn = (check: string, says: string, what: string) => warning(check, says, { todo: what, page: STATES });
  const own = gatewaySync?.metadata.name;
  if (own !== undefined && crName !== undefined && crName !== own)
    return fail('report/gatewaysync', `its agent follows GatewaySync ${crName}, but the pod specifies ${own}`, {
      todo,
      page: STATES,
    });
  if (verification === 'Failed')
    return fail('report/verification', `its gateway failed the verification of ${commit?.slice(0, 8)}${words}`, {
      todo: inCommit,
      page: 'how-to/verify-gateways.md',
    });
  const advice = { todo: correct, page: reason ? REASONS : STATES };
  if (state === 'Error')
    return fail('report/error', `its agent reports an error${words || ' without details'}`, advice);
  if (hasFailed)
    return fail('report/failed', `cannot deliver the commit${words}`, { todo: inCommit, page: 'how-to/roll-back.md' });
  if (reason === 'Standby') return ok('report/standby', `its files do not change${words}`);
  if (state === 'Paused')
    return warn(
      'report/paused',
      `paused: its files do not change${words}`,
      'run kubectl stoker resume, or remove paused from its profile',
    );
  if (state === 'DryRun')
    return warn('report/dry-run', `dry run: it only reports the changes${words}`, 'remove dryRun from its profile');
  if (
    gatewaySync?.metadata.generation !== undefined &&
    generation !== undefined &&
    generation < gatewaySync.metadata.generation
  )
    return warn(
      'report/generation',
      'its agent has not reported the latest change of the spec',
      `wait; if it persists, ${todo}`,
    );
  const wanted = gatewaySync?.status?.lastSyncCommit;
  if (state !== 'Synced' || (wanted && commit !== wanted && !gatewaySync?.status?.rollout))
    return warn(
      'report/behind',
      `it has ${commit?.slice(0, 8) ?? 'no commit'} and is updating${words}`,
      `wait; if it persists, ${todo}`,
    );
  return ok('report/synced', `it has ${commit?.slice(0, 8) ?? 'its files'}${words}`);
}
