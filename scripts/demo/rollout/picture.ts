import { placeInWaves, waveViews } from '../../../cli/fleet/waves.ts';
import { LOOKS, MARKS, type WavePicture } from '../../../cli/terminal/bars.ts';
import type { Ink } from '../../../cli/terminal/ink.ts';
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
  const { number, phase, commit, summary } = rollout;
  return {
    number,
    phase,
    commit,
    summary,
    waves: waveViews(rollout, placed).map(({ name, state: mark, gateways = [] }) => ({ name, mark, gateways })),
  };
}

/** The state of a gateway in the status, which its report overrides. */
const GATEWAY = { namespace: NAMESPACE, syncStatus: 'Pending' } as const;

const BAR = 6;

/** Draws a frame: a line for each wave with a bar for each gateway, and a line with the time and the summary. */
export function drawFrame({ atMs, picture: { waves, summary } }: Frame, ink: Ink): string[] {
  const nameWidth = Math.max(...waves.map(({ name }) => name.length));
  const rows = waves.map(({ name, mark, gateways }) => {
    const bars = gateways.map((gateway) => {
      const { glyph, colour } = LOOKS[gateway.look];
      return `${ink(colour, glyph.repeat(BAR))} ${ink('dim', gateway.name)}`;
    });
    const { glyph, colour } = MARKS[mark];
    return `  ${ink(colour, glyph)} ${ink('bold', name.padEnd(nameWidth))}  ${bars.join('  ')}`;
  });
  return [...rows, ink('dim', `    ${secondsOf(atMs)}  ${summary}`)];
}

/** Draws the same in one line. */
export function drawLine({ atMs, picture: { waves, summary } }: Frame, ink: Ink): string {
  const parts = waves.map(({ name, gateways }) => {
    const bars = gateways.map(({ look }) => ink(LOOKS[look].colour, LOOKS[look].glyph)).join('');
    return `${name} ${bars}`;
  });
  return `  ${secondsOf(atMs)}  ${parts.join('  ')}  ${summary}`;
}

const secondsOf = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(4)} s`;
