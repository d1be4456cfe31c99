import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { shortCommit } from './messages.ts';
import { isBackwards, type PlacedGateway } from './waves.ts';

/** View of a gateway. */
export interface GatewayView {
  name: string;
  pod: string;
  profile?: string;
  /** Name of its wave, if known. */
  wave?: string;
  status: DiscoveredGateway['syncStatus'];
  /** The commit on its disk. */
  commit?: string;
  /** Time and duration of its last sync. */
  syncedAt?: string;
  took?: string;
  /** Reason of its wait, or its problem; omitted if there is none. */
  waitsFor?: string;
}

/** Data about a gateway. */
export interface GatewayContext {
  gatewaySync: GatewaySync;
  report: SyncReportStatus | undefined;
  placed: PlacedGateway | undefined;
}

/** Creates the view. */
export function gatewayView(gateway: DiscoveredGateway, context: GatewayContext): GatewayView {
  const { name, podName, profile, syncStatus, syncedCommit, lastSyncTime, lastSyncDuration } = gateway;
  const { placed, gatewaySync } = context;
  const wave = placed && gatewaySync.status?.rollout?.admission[placed.wave]?.wave;
  return withoutUndefined({
    name,
    pod: podName,
    profile,
    wave,
    status: syncStatus,
    commit: syncedCommit,
    syncedAt: lastSyncTime,
    took: lastSyncDuration,
    waitsFor: waitsForWhat(gateway, context) || undefined,
  });
}

/** Sorts gateways: those with problems first. */
export function byNeed(gateways: readonly GatewayView[]): GatewayView[] {
  const needsHelp = ({ status }: GatewayView) => status === 'Error' || status === 'MissingSidecar';
  return [...gateways.filter(needsHelp), ...gateways.filter((gateway) => !needsHelp(gateway))];
}

function waitsForWhat(gateway: DiscoveredGateway, context: GatewayContext): string | undefined {
  const { message } = gateway;
  const own = ownWords(gateway, context);
  if (message && own) return `${own}: ${message}`;
  return message || own;
}

function ownWords(gateway: DiscoveredGateway, { gatewaySync, report, placed }: GatewayContext): string | undefined {
  const { syncStatus, syncedCommit, message } = gateway;
  switch (syncStatus) {
    case 'Synced':
      return inRollout(gatewaySync.status?.rollout, { report, placed });
    case 'Pending':
      if (message) return undefined;
      return report || syncedCommit
        ? 'its agent has not reported the latest change yet'
        : 'its agent has not reported yet: the pod may still be starting';
    case 'Skewed': {
      const wanted = wantedCommit(gatewaySync, placed);
      return `updating to ${wanted ? shortCommit(wanted) : 'its commit'}`;
    }
    case 'Paused':
      return gateway.reason === 'Standby' ? undefined : 'paused until kubectl stoker resume';
    case 'DryRun':
      return 'dry run: it only reports the changes';
    case 'Error':
    case 'MissingSidecar':
      return message ? undefined : 'no details reported';
  }
}

/** Returns the commit that a gateway should have; undefined if its place in the rollout is unknown. */
function wantedCommit({ status = {} }: GatewaySync, placed: PlacedGateway | undefined): string | undefined {
  const { rollout, lastSyncCommit } = status;
  if (!rollout) return lastSyncCommit;
  if (isBackwards(rollout)) return rollout.stableCommit;
  if (!placed) return undefined;
  return placed.isAdmitted ? rollout.commit : rollout.stableCommit;
}

/** Explains the wait of a gateway in sync during a rollout. */
function inRollout(
  rollout: RolloutStatus | undefined,
  { report, placed }: Pick<GatewayContext, 'report' | 'placed'>,
): string | undefined {
  if (!rollout || !placed) return undefined;
  if (placed.look === 'failed') return report?.message ? undefined : `it failed with ${shortCommit(rollout.commit)}`;
  if (rollout.phase === 'Complete' || isBackwards(rollout)) return undefined;
  if (placed.isAdmitted) return report?.verification === 'Running' ? 'it is being verified' : undefined;
  const { phase, wave: current, admission, commit } = rollout;
  const own = admission[placed.wave]?.wave;
  if (phase === 'Stopped')
    return `the rollout stopped: it keeps ${rollout.stableCommit ? shortCommit(rollout.stableCommit) : 'its files'}`;
  if (phase === 'Previewing') {
    const isPreviewed = report?.preview?.commit === commit;
    return isPreviewed ? 'the previews of other gateways' : `its preview of ${shortCommit(commit)}`;
  }
  if (own !== current) return `wave ${own}, which follows ${current}`;
  if (phase === 'AwaitingApproval') return `the approval of wave ${own}`;
  return phase === 'AwaitingWindow' ? 'an open window' : `its turn in wave ${own}`;
}
