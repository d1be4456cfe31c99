import type { GatewayCounts, GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import type { RolloutPhase, RolloutStatus } from '../../../shared/api/rollout.ts';
import { DELAYS, isDown, OUTAGE, type Site, syncsOf } from './fleet.ts';

/** Minutes of the outage until the rollout that it hit has stopped, and until the controller asks the git host again. */
const TROUBLE = { stopped: 1.5, unreachable: 4 };

/** The status that the controller has written at a minute. */
export function statusOf(site: Site, minute: number): GatewaySyncStatus {
  const rollout = site.hasRollout ? rolloutOf(site, minute) : undefined;
  return { ...withoutRollout(site, minute, rollout), ...(rollout && { rollout }) };
}

function withoutRollout(site: Site, minute: number, rollout: RolloutStatus | undefined): GatewaySyncStatus {
  const total = site.gateways.length;
  const isWaiting = syncsOf(site).some(({ pushed, applied }) => minute >= pushed && minute < applied);
  const counts = (synced: number, others: Partial<GatewayCounts> = {}): GatewayCounts => ({
    ...{ summary: `${synced}/${total} synced`, total, synced },
    ...{ pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0, ...others },
  });
  if (site.isPaused) return status('Unknown', 'Paused', counts(0, { paused: total }));
  const failed = rollout?.failed ?? 0;
  const gateways = failed > 0 ? counts(total - failed, { error: failed }) : counts(total);
  if (isDown(minute - TROUBLE.unreachable, site) && isDown(minute, site))
    return status('False', 'GitUnreachable', gateways);
  if (rollout && rollout.phase !== 'Complete')
    return status(rollout.phase === 'Stopped' ? 'False' : 'Unknown', `Rollout${rollout.phase}`, gateways);
  if (isWaiting) return status('Unknown', 'Syncing', counts(total - 1, { pending: 1 }));
  return status('True', 'Synced', gateways);
}

/**
 * The first gateway gets a change, then time passes, then the others get it. When the git host is down by then, they
 * fail, and the rollout stops until there is a newer commit.
 */
function rolloutOf(site: Site, minute: number): RolloutStatus {
  const hit = isDown(OUTAGE.from, site) ? [OUTAGE.from] : [];
  const starts = [...syncsOf(site).map(({ applied }) => applied - DELAYS.sync), ...hit];
  const start = Math.max(...starts.filter((candidate) => candidate <= minute));
  const since = minute - start;
  const isHit = hit.includes(start);
  if (isHit && since >= TROUBLE.stopped) return rolloutIn('Stopped', site.gateways.length - 1);
  if (since < DELAYS.sync) return rolloutIn('Progressing');
  if (since < DELAYS.rollout) return rolloutIn('Soaking');
  return rolloutIn(isHit || since < DELAYS.rollout + DELAYS.sync ? 'Progressing' : 'Complete');
}

/** Metrics are about its phase and its failed gateways. */
function rolloutIn(phase: RolloutPhase, failed = 0): RolloutStatus {
  const release = { commit: '', ref: '', revision: '', stableCommit: '', stableRef: '', stableRevision: '' };
  const counts = { number: 1, admitted: 0, verified: 0, total: 0, failed };
  return { phase, summary: '', ...release, ...counts, startedAt: '', plan: '', admission: [] };
}

function status(ready: 'True' | 'False' | 'Unknown', reason: string, gateways: GatewayCounts): GatewaySyncStatus {
  const condition = {
    type: 'Ready',
    status: ready,
    reason,
    message: '',
    lastTransitionTime: '',
    observedGeneration: 1,
  };
  return { gateways, conditions: [condition] };
}
