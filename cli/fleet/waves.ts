import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { boundedLabels } from '../../shared/domain/kubernetes/bounded-labels.ts';
import { fittingWaves, isWithin, planOf, rolloutKey, waveOf } from '../../shared/domain/rollout/waves.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { Look, WavePicture } from '../terminal/bars.ts';
import type { ReportOf } from './beyond.ts';

/** A wave, with its gateways in the order of admission if they are known. */
export interface WaveView {
  name: string;
  state: WavePicture['state'];
  gateways?: { name: string; pod: string; look: Look }[];
}

/** A gateway with its place in a rollout. */
export interface PlacedGateway {
  name: string;
  podName: string;
  /** Index of its wave in `status.rollout.admission`. */
  wave: number;
  isAdmitted: boolean;
  look: Look;
}

/** Data about gateways beyond the status. */
export interface Known {
  /** Undefined if reports aren't readable: then the status shows how far a gateway is. */
  reportOf: ReportOf | undefined;
  /** Labels of pods by name; undefined if they aren't readable. */
  labelsOf: ReadonlyMap<string, Record<string, string>> | undefined;
}

/**
 * Assigns gateways to the waves of the status, in the order of admission. Undefined without a rollout, if its waves
 * differ from those in the spec, or if required labels aren't readable.
 */
export function placeInWaves(
  { spec, status }: GatewaySync,
  gateways: readonly DiscoveredGateway[],
  { labelsOf, ...known }: Known,
): PlacedGateway[] | undefined {
  const { rollout } = status ?? {};
  const { waves = [] } = spec.rollout ?? {};
  if (!rollout || rollout.plan !== planOf(waves)) return undefined;
  if (!labelsOf && waves.some(({ selector }) => selector)) return undefined;
  const isChecked = spec.gateway.verify !== undefined && !isBackwards(rollout);
  return gateways
    .map((gateway) => {
      const { name, podName } = gateway;
      const key = rolloutKey(name, podName);
      const labels = new Map(boundedLabels(Object.entries(labelsOf?.get(podName) ?? {})));
      const wave = waveOf(fittingWaves(waves, labels), key, rollout.admission);
      const isAdmitted = isWithin(key, rollout.admission[wave]?.admitted ?? '');
      const isVerified = !isChecked || rollout.admission[wave]?.wave !== rollout.wave;
      const report = known.reportOf
        ? known.reportOf(gateway)
        : impliedReport(gateway, rollout, { isAdmitted, isVerified });
      return {
        key,
        name,
        podName,
        wave,
        isAdmitted,
        look: lookOf({ podName, isAdmitted }, report, rollout),
      };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key: _, ...gateway }) => gateway);
}

/**
 * Returns what the report of a gateway contains as far as the status implies it: a gateway is `Synced` only with the
 * release that it should have.
 */
function impliedReport(
  { syncStatus: state, syncedCommit }: DiscoveredGateway,
  rollout: RolloutStatus,
  { isAdmitted, isVerified }: { isAdmitted: boolean; isVerified: boolean },
): SyncReportStatus {
  const isNew = isAdmitted && !isBackwards(rollout);
  const revision = isNew ? rollout.revision : rollout.stableRevision;
  return withoutUndefined({
    state,
    rollout: rollout.number,
    commit: syncedCommit,
    revision: state === 'Synced' ? revision : undefined,
    verification: isVerified ? undefined : ('Running' as const),
  });
}

/** Returns the waves of a rollout with their gateways, including the rest. */
export function waveViews(rollout: RolloutStatus, placed: readonly PlacedGateway[] | undefined): WaveView[] {
  return rollout.admission.map(({ wave: name }, index) => {
    const gateways = placed
      ?.filter(({ wave }) => wave === index)
      .map((gateway) => ({ name: gateway.name, pod: gateway.podName, look: gateway.look }));
    return { name, state: markOf(index, gateways ?? [], rollout), ...(gateways && { gateways }) };
  });
}

/** Checks whether gateways return to the stable commit. */
export const isBackwards = ({ phase }: Pick<RolloutStatus, 'phase'>): boolean =>
  phase === 'RollingBack' || phase === 'RolledBack';

/** Checks whether the preview of a rollout stopped it, so no gateway got its commit. */
export const isStoppedEarly = ({ phase, previewFailure }: RolloutStatus): boolean =>
  phase === 'Stopped' && previewFailure !== undefined;

/** Returns the look of a gateway from its report. */
export function lookOf(
  { podName, isAdmitted }: { podName: string; isAdmitted: boolean },
  report: SyncReportStatus | undefined,
  rollout: RolloutStatus,
): Look {
  const verdict = report?.rollout === rollout.number ? verdictOf(report) : 'busy';
  const hasFailed = rollout.failures?.includes(podName) ?? false;
  if (isBackwards(rollout)) {
    const isStable = report?.commit === rollout.stableCommit && report?.revision === rollout.stableRevision;
    if (hasFailed) return isStable && verdict === 'well' ? 'old' : 'failed';
    return isStable ? 'old' : 'onItsWay';
  }
  if (!isAdmitted) return 'old';
  if (hasFailed || verdict === 'failed') return 'failed';
  const isRelease = report?.commit === rollout.commit && report.revision === rollout.revision;
  if (!isRelease || (verdict !== 'well' && rollout.phase !== 'Complete')) return 'onItsWay';
  // With the same files as before, it can't show whether the commit works.
  return report.unchangedAt === rollout.commit ? 'unchanged' : 'new';
}

function verdictOf({ state, verification, hasFailed }: SyncReportStatus): 'well' | 'busy' | 'failed' {
  if (hasFailed || verification === 'Failed') return 'failed';
  return state === 'Synced' && verification !== 'Running' ? 'well' : 'busy';
}

/** Returns the progress of a wave. */
export function markOf(
  index: number,
  gateways: readonly { look: Look }[],
  rollout: RolloutStatus,
): WavePicture['state'] {
  if (gateways.some(({ look }) => look === 'failed')) return 'failed';
  if (isBackwards(rollout)) return 'back';
  // Until its preview is over, no gateway has the commit.
  if (rollout.phase === 'Previewing' || isStoppedEarly(rollout)) return 'waiting';
  const current = rollout.admission.findIndex(({ wave }) => wave === rollout.wave);
  if (rollout.phase === 'Complete' || index < current) return 'done';
  if (index !== current) return 'waiting';
  return rollout.phase === 'Stopped' ? 'failed' : 'underWay';
}
