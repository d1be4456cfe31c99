import type { Colour, Ink } from './ink.ts';
import { cut, pad, plain, widthOf } from './text.ts';

/** State of a gateway: old commit, new but not yet verified, new with the same files, new and verified, or failed. */
export type Look = 'old' | 'onItsWay' | 'unchanged' | 'new' | 'failed';

/** A wave whose gateways may be unknown. */
export interface WavePicture {
  name: string;
  /** `back`: its gateways are being or have been rolled back. */
  state: 'waiting' | 'underWay' | 'done' | 'failed' | 'back';
  gateways?: readonly { look: Look }[];
}

/** Shapes have the same meaning as colours, for colour-blind users. */
export const LOOKS: Record<Look, { glyph: string; colour: Colour; meaning: string }> = {
  old: { glyph: '░', colour: 'grey', meaning: 'old commit' },
  onItsWay: { glyph: '▒', colour: 'yellow', meaning: 'updating' },
  unchanged: { glyph: '▓', colour: 'cyan', meaning: 'unchanged' },
  new: { glyph: '█', colour: 'green', meaning: 'new, verified' },
  failed: { glyph: '╳', colour: 'red', meaning: 'failed' },
};

export const MARKS: Record<WavePicture['state'], { glyph: string; colour: Colour }> = {
  waiting: { glyph: ' ', colour: 'dim' },
  underWay: { glyph: '▶', colour: 'yellow' },
  done: { glyph: '✔', colour: 'green' },
  failed: { glyph: '✘', colour: 'red' },
  back: { glyph: '↩', colour: 'cyan' },
};

const LEGEND_WIDTH = 74;

/** Draws the legend; empty if it doesn't fit in one line. */
export function drawLegend(ink: Ink, columns: number = LEGEND_WIDTH): string[] {
  if (columns < LEGEND_WIDTH) return [];
  const parts = Object.values(LOOKS).map(({ glyph, colour, meaning }) => `${ink(colour, glyph.repeat(2))} ${meaning}`);
  return [parts.join('   ')];
}

/** Draws a line per wave, with a shape per gateway up to the width. */
export function drawWaves(
  waves: readonly WavePicture[],
  { columns = 80, ink }: { columns: number | undefined; ink: Ink },
): string[] {
  const nameWidth = Math.min(Math.max(...waves.map(({ name }) => widthOf(name))), Math.floor(columns / 3));
  return waves.map(({ name, state, gateways }) => {
    const { glyph, colour } = MARKS[state];
    const start = `${ink(colour, glyph)} ${ink('bold', pad(cut(plain(name), nameWidth), nameWidth))}`;
    if (!gateways) return start.trimEnd();
    const counts = countsOf(gateways, state);
    const room = Math.max(1, columns - nameWidth - widthOf(counts) - 8);
    const shown = gateways.slice(0, gateways.length > room ? room - 1 : room);
    const bars = shown.map(({ look }) => ink(LOOKS[look].colour, LOOKS[look].glyph)).join('');
    return `${start}  ${bars}${shown.length < gateways.length ? '…' : ''}  ${ink('dim', counts)}`;
  });
}

function countsOf(gateways: readonly { look: Look }[], state: WavePicture['state']): string {
  if (gateways.length === 0) return 'no gateway';
  const count = (look: Look) => gateways.filter((gateway) => gateway.look === look).length;
  const parts = [
    [count('failed'), 'failed'],
    [count('onItsWay'), 'updating'],
  ] as const;
  const rest = parts.filter(([number]) => number > 0).map(([number, words]) => `, ${number} ${words}`);
  if (state === 'back') return `${count('old')}/${gateways.length} rolled back${rest.join('')}`;
  return `${count('new') + count('unchanged')}/${gateways.length}${rest.join('')}`;
}
