import { isDeepStrictEqual } from 'node:util';
import { placeInWaves, type WaveView, waveViews } from '../../../cli/fleet/waves.ts';
import { LOOKS, MARKS } from '../../../cli/terminal/bars.ts';
import type { Ink } from '../../../cli/terminal/ink.ts';
import { Screen } from '../../../cli/terminal/screen.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { until } from '../../testbed/until.ts';
import { ink, isTerminal } from '../console.ts';
import { podObjects } from './objects.ts';

/** A wave whose gateways are known. */
export type DrawnWave = Required<WaveView>;

/** A rollout at one moment. */
interface Picture {
  phase: string;
  waves: DrawnWave[];
  /** Summary as in `kubectl get`. */
  summary: string;
}

/** A picture and its time, in milliseconds since the beginning. */
export interface Frame {
  atMs: number;
  picture: Picture;
}

/** Shows each change of the rollout of a commit, and returns the frames once the last one is accepted. */
export async function followRollout(
  resource: () => GatewaySync | undefined,
  commit: string,
  accept: (picture: Picture) => boolean,
): Promise<Frame[]> {
  // Pictures replace each other, except without a terminal.
  const columns = isTerminal ? process.stdout.columns : undefined;
  const screen = new Screen({ print: (text) => void process.stdout.write(text), columns });
  const startedAt = performance.now();
  const frames: Frame[] = [];
  const showNext = () => {
    const picture = pictureOf(resource(), commit);
    if (!picture || isDeepStrictEqual(picture, frames.at(-1)?.picture)) return false;
    const frame = { atMs: performance.now() - startedAt, picture };
    frames.push(frame);
    screen.show(drawFrame(frame, ink), drawLine(frame, ink));
    return accept(picture);
  };
  await until(`the end of the rollout of ${commit}`, showNext, { timeoutMs: 60_000 });
  return frames;
}

const labelsOf = new Map(podObjects.map(({ metadata: { name, labels } }) => [name, labels]));

/** Makes a picture of the status; undefined if it doesn't show the rollout of this commit. */
function pictureOf(gatewaySync: GatewaySync | undefined, commit: string): Picture | undefined {
  if (!gatewaySync) return undefined;
  const { rollout, discoveredGateways = [] } = gatewaySync.status ?? {};
  const placed = placeInWaves(gatewaySync, discoveredGateways, { labelsOf, reportOf: undefined });
  if (rollout?.commit !== commit || !placed) return undefined;
  const waves = waveViews(rollout, placed).map(({ gateways = [], ...wave }) => ({ ...wave, gateways }));
  return { phase: rollout.phase, summary: rollout.summary, waves };
}

const BAR = 6;

/** Draws a frame: a line for each wave with a bar for each gateway, and a line with the time and the summary. */
export function drawFrame({ atMs, picture: { waves, summary } }: Frame, ink: Ink): string[] {
  const nameWidth = Math.max(...waves.map(({ name }) => name.length));
  const rows = waves.map(({ name, state, gateways }) => {
    const bars = gateways.map((gateway) => {
      const { glyph, colour } = LOOKS[gateway.look];
      return `${ink(colour, glyph.repeat(BAR))} ${ink('dim', gateway.name)}`;
    });
    const { glyph, colour } = MARKS[state];
    return `  ${ink(colour, glyph)} ${ink('bold', name.padEnd(nameWidth))}  ${bars.join('  ')}`;
  });
  return [...rows, ink('dim', `    ${secondsOf(atMs)}  ${summary}`)];
}

/** Draws the same in one line. */
function drawLine({ atMs, picture: { waves, summary } }: Frame, ink: Ink): string {
  const parts = waves.map(({ name, gateways }) => {
    const bars = gateways.map(({ look }) => ink(LOOKS[look].colour, LOOKS[look].glyph)).join('');
    return `${name} ${bars}`;
  });
  return `  ${secondsOf(atMs)}  ${parts.join('  ')}  ${summary}`;
}

const secondsOf = (ms: number): string => `${(ms / 1000).toFixed(1).padStart(4)} s`;
