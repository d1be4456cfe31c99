import { LOOKS, MARKS } from '../../../cli/terminal/bars.ts';
import type { Ink } from '../../../cli/terminal/ink.ts';
import type { Picture } from './picture.ts';

const BAR = 6;
const SOAK = 10;

/** Number of columns of {@link drawPicture}, for waves of up to three gateways. */
export const WIDTH = 72;

/**
 * Draws a rollout: a line for each wave, with a bar for each gateway, and a line with the summary from `kubectl get`.
 * `soaked` is the share of the soak that is over, 0 to 1.
 */
export function drawPicture(
  { waves, phase, summary }: Picture,
  { seconds, soaked, ink }: { seconds: number; soaked: number; ink: Ink },
): string[] {
  const nameWidth = Math.max(...waves.map(({ name }) => name.length));
  const most = Math.max(...waves.map(({ gateways }) => gateways.length));
  const gatewayWidth = Math.max(...waves.flatMap(({ gateways }) => gateways.map(({ name }) => name.length)), 0);
  const rows = waves.map(({ name, mark, gateways }) => {
    const bars = Array.from({ length: most }, (_, index) => {
      const gateway = gateways[index];
      if (!gateway) return ' '.repeat(BAR + 1 + gatewayWidth);
      const { glyph, colour } = LOOKS[gateway.look];
      return `${ink(colour, glyph.repeat(BAR))} ${ink('dim', gateway.name.padEnd(gatewayWidth))}`;
    });
    const { glyph, colour } = MARKS[mark];
    const isSoaking = phase === 'Soaking' && mark === 'underWay';
    const soak = isSoaking ? drawSoak(soaked, ink) : '';
    return `  ${ink(colour, glyph)} ${ink('bold', name.padEnd(nameWidth))}  ${bars.join('  ')}  ${soak}`.trimEnd();
  });
  return [...rows, ink('dim', `    ${secondsOf(seconds)}  ${summary}`)];
}

function drawSoak(share: number, ink: Ink): string {
  const over = Math.round(Math.min(1, Math.max(0, share)) * SOAK);
  return `${ink('green', '━'.repeat(over))}${ink('grey', '─'.repeat(SOAK - over))}`;
}

/** Draws the same in one line. */
export function drawLine({ waves, summary }: Picture, { seconds, ink }: { seconds: number; ink: Ink }): string {
  const parts = waves.map(({ name, gateways }) => {
    const bars = gateways.map(({ look }) => ink(LOOKS[look].colour, LOOKS[look].glyph)).join('');
    return `${name} ${bars}`;
  });
  return `  ${secondsOf(seconds)}  ${parts.join('  ')}  ${summary}`;
}

const secondsOf = (seconds: number): string => `${seconds.toFixed(1).padStart(4)} s`;
