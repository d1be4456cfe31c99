import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { boundedLabels } from '../../shared/domain/bounded-labels.ts';
import { fittingWaves, isWithin, planOf, rolloutKey, waveOf } from '../../shared/domain/waves.ts';
import type { Look, WavePicture } from '../terminal/bars.ts';

/** A wave, and who is in it if that is known: in the order in which they are admitted. */
export interface WaveView {
  name: string;
  state: WavePicture['mark'];
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

/** What is known of gateways next to the status. */
export interface Known {
  reportOf: (gateway: Named) => SyncReportStatus | undefined;
  /** Labels of pods by name; undefined where they may not be read. */
  labelsOf: ReadonlyMap<string, Record<string, string>> | undefined;
}

type Named = Pick<DiscoveredGateway, 'name' | 'podName'> & DiscoveredGateway;

/**
 * Places gateways in the waves of the status, in the order in which they are admitted. Undefined where there is no
 * rollout, where its waves are not those of the spec any more, or where labels are needed and may not be read.
 */
export function placeInWaves(
  { spec, status }: GatewaySync,
  gateways: readonly DiscoveredGateway[],
  { reportOf, labelsOf }: Known,
): PlacedGateway[] | undefined {
  const { rollout } = status ?? {};
  const { waves = [] } = spec.rollout ?? {};
  if (!rollout || rollout.plan !== planOf(waves)) return undefined;
  if (!labelsOf && waves.some(({ selector }) => selector)) return undefined;
  return gateways
    .map((gateway) => {
      const { name, podName } = gateway;
      const key = rolloutKey(name, podName);
      const labels = new Map(boundedLabels(Object.entries(labelsOf?.get(podName) ?? {})));
      const wave = waveOf(fittingWaves(waves, labels), key, rollout.admission);
      const isAdmitted = isWithin(key, rollout.admission[wave]?.admitted ?? '');
      return {
        key,
        name,
        podName,
        wave,
        isAdmitted,
        look: lookOf({ podName, isAdmitted }, reportOf(gateway), rollout),
      };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map(({ key: _, ...gateway }) => gateway);
}

/** The waves of a rollout with their gateways, the rest included. */
export function waveViews(rollout: RolloutStatus, placed: readonly PlacedGateway[] | undefined): WaveView[] {
  return rollout.admission.map(({ wave: name }, index) => {
    const gateways = placed
      ?.filter(({ wave }) => wave === index)
      .map((gateway) => ({ name: gateway.name, pod: gateway.podName, look: gateway.look }));
    return { name, state: markOf(index, gateways ?? [], rollout), ...(gateways && { gateways }) };
  });
}

/** Whether gateways go back to the commit that was complete before. */
export const isBackwards = ({ phase }: Pick<RolloutStatus, 'phase'>): boolean =>
  phase === 'RollingBack' || phase === 'RolledBack';

/** What a gateway has, by its report. */
export function lookOf(
  { podName, isAdmitted }: { podName: string; isAdmitted: boolean },
  report: SyncReportStatus | undefined,
  rollout: RolloutStatus,
): Look {
  const verdict = report?.rollout === rollout.number ? verdictOf(report) : 'busy';
  const hasFailed = rollout.failures?.includes(podName) ?? false;
  if (isBackwards(rollout)) {
    const isStable = report?.commit === rollout.stableCommit && report.revision === rollout.stableRevision;
    if (hasFailed) return isStable && verdict === 'well' ? 'old' : 'failed';
    return isStable ? 'old' : 'onItsWay';
  }
  if (!isAdmitted) return 'old';
  if (hasFailed || verdict === 'failed') return 'failed';
  const isRelease = report?.commit === rollout.commit && report.revision === rollout.revision;
  return isRelease && (verdict === 'well' || rollout.phase === 'Complete') ? 'new' : 'onItsWay';
}

function verdictOf({ state, verification, hasFailed }: SyncReportStatus): 'well' | 'busy' | 'failed' {
  if (hasFailed || verification === 'Failed') return 'failed';
  return state === 'Synced' && verification !== 'Running' ? 'well' : 'busy';
}

/** How far a wave is. */
export function markOf(
  index: number,
  gateways: readonly { look: Look }[],
  rollout: RolloutStatus,
): WavePicture['mark'] {
  if (gateways.some(({ look }) => look === 'failed')) return 'failed';
  if (isBackwards(rollout)) return 'back';
  const current = rollout.admission.findIndex(({ wave }) => wave === rollout.wave);
  if (rollout.phase === 'Complete' || index < current) return 'done';
  return index === current ? 'underWay' : 'waiting';
}
