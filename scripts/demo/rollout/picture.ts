import { isBackwards, placeInWaves, waveViews } from '../../../cli/fleet/waves.ts';
import type { WavePicture } from '../../../cli/terminal/bars.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { RolloutStatus } from '../../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { NAMESPACE } from '../objects.ts';

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
  gatewaySync: GatewaySync,
  pods: readonly GatewayPod[],
  reports: ReadonlyMap<string, SyncReportStatus>,
): Picture | undefined {
  const { rollout } = gatewaySync.status ?? {};
  const gateways = pods.map(({ name }) => ({ ...GATEWAY, name, podName: name }));
  const placed = placeInWaves(gatewaySync, gateways, {
    labelsOf: new Map(pods.map(({ name, labels }) => [name, labels])),
    reportOf: ({ podName }) => reports.get(podName),
  });
  if (!rollout || !placed) return undefined;
  const { number, phase, commit, summary, admitted, verified, failed } = rollout;
  return {
    number,
    phase,
    commit,
    summary,
    inProgress: isBackwards(rollout) ? 0 : Math.max(0, admitted - verified - failed),
    waves: waveViews(rollout, placed).map(({ name, state: mark, gateways = [] }) => ({ name, mark, gateways })),
  };
}

/** The state of a gateway in the status, which its report overrides. */
const GATEWAY = { namespace: NAMESPACE, syncStatus: 'Pending' } as const;
