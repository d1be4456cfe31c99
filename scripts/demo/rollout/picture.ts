import { isBackwards, lookOf, markOf } from '../../../cli/fleet/waves.ts';
import type { WavePicture } from '../../../cli/terminal/bars.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { fittingWaves, isWithin, planOf, rolloutKey, waveOf } from '../../../shared/domain/waves.ts';

/** A rollout at one moment. */
export interface Picture {
  number: number;
  phase: RolloutStatus['phase'];
  commit: string;
  waves: WavePicture[];
  /** Summary as in `kubectl get`. */
  summary: string;
  /** Number of gateways with the commit that are neither verified nor failed. */
  inProgress: number;
}

/** A picture and its time, in milliseconds since the beginning. */
export interface Frame {
  atMs: number;
  picture: Picture;
}

/** A pod named like its gateway. */
export interface GatewayPod {
  name: string;
  labels: Record<string, string>;
}

/** Makes a picture of the objects; undefined if the status doesn't show these waves. */
export function pictureOf(
  { spec, status }: GatewaySync,
  pods: readonly GatewayPod[],
  reports: ReadonlyMap<string, SyncReportStatus>,
): Picture | undefined {
  const { rollout } = status ?? {};
  const { waves = [] } = spec.rollout ?? {};
  if (!rollout || rollout.plan !== planOf(waves)) return undefined;
  const placed = pods
    .map(({ name, labels }) => {
      const key = rolloutKey(name, name);
      const wave = waveOf(fittingWaves(waves, new Map(Object.entries(labels))), key, rollout.admission);
      const isAdmitted = isWithin(key, rollout.admission[wave]?.admitted ?? '');
      return { name, key, wave, look: lookOf({ podName: name, isAdmitted }, reports.get(name), rollout) };
    })
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const { number, phase, commit, summary, admitted, verified, failed } = rollout;
  return {
    number,
    phase,
    commit,
    summary,
    inProgress: isBackwards(rollout) ? 0 : Math.max(0, admitted - verified - failed),
    waves: rollout.admission.map((entry, index) => {
      const gateways = placed.filter(({ wave }) => wave === index).map(({ name, look }) => ({ name, look }));
      return { name: entry.wave, mark: markOf(index, gateways, rollout), gateways };
    }),
  };
}
