import { inkFor } from '../../../cli/terminal/ink.ts';
import { drawPicture, WIDTH } from './draw.ts';
import type { Frame } from './picture.ts';

/** A commit of the demo, with the frames of its rollout. */
export interface Recording {
  commit: string;
  message: string;
  /** Effect of the commit according to the previews. */
  plan?: string;
  frames: Frame[];
}

/** A line of text that is visible during a part of the animation (ms). */
interface Line {
  row: number;
  text: string;
  fromMs: number;
  untilMs: number;
}

/** Begins an ANSI colour, which ends with `m`. */
const CSI = '\u001b[';
const ink = inkFor(true);
const CELL = { width: 8.4, height: 20 };
const MARGIN = 16;
/** Shortest time for which a frame is shown; the printed times are the real ones (ms). */
const HOLD_MS = 700;
/** Time for which the end of a rollout is shown (ms). */
const REST_MS = 2_500;
/** Steps of the bar that shows a soak. */
const SOAK_STEPS = 5;

const COLOURS: Record<string, string> = {
  '1': 'fill:#fff;font-weight:bold',
  '2': 'fill:#8b949e',
  '31': 'fill:#ff7b72',
  '32': 'fill:#7ee787',
  '33': 'fill:#e3b341',
  '36': 'fill:#76e3ea',
  '90': 'fill:#6e7681',
};

/** Draws rollouts as an animated SVG: a terminal in which one follows the other. */
export function drawAnimation(recordings: readonly Recording[], ending: string): string {
  const lines: Line[] = [];
  let now = 0;
  let row = 0;
  for (const { commit, message, plan, frames } of recordings) {
    const text = `${ink('dim', '$ git push')}  ${commit.slice(0, 8)} ${message}`;
    lines.push({ row, text, fromMs: now, untilMs: 0 });
    now += HOLD_MS;
    if (plan !== undefined) {
      row += 1;
      lines.push({ row, text: `${ink('dim', '$ kubectl stoker plan')}  ${plan}`, fromMs: now, untilMs: 0 });
      now += REST_MS;
    }
    const shown = frames.flatMap((frame, index) => steps(frame, frames[index + 1]));
    for (const { rows, ms } of shown) {
      for (const [index, text] of rows.entries()) {
        const last = lines.findLast((line) => line.row === row + 1 + index);
        if (last?.text === text) continue;
        if (last) last.untilMs = now;
        lines.push({ row: row + 1 + index, text, fromMs: now, untilMs: 0 });
      }
      now += ms;
    }
    row += (shown[0]?.rows.length ?? 0) + 2;
    now += REST_MS;
  }
  lines.push({ row, text: ending, fromMs: now - REST_MS, untilMs: 0 });
  return toSvg(lines, { durationMs: now + REST_MS, rows: row + 1 });
}

/** Returns the rows of a frame, in several steps if its wave soaks until the next one. */
function steps({ atMs, picture }: Frame, next: Frame | undefined): { rows: string[]; ms: number }[] {
  const ms = Math.max(HOLD_MS, (next?.atMs ?? 0) - atMs);
  const count = picture.phase === 'Soaking' && next ? SOAK_STEPS : 1;
  return Array.from({ length: count }, (_, step) => ({
    rows: drawPicture(picture, { seconds: atMs / 1000, soaked: (step + 1) / count, ink }),
    ms: ms / count,
  }));
}

function toSvg(lines: readonly Line[], { durationMs, rows }: { durationMs: number; rows: number }): string {
  const width = Math.ceil(WIDTH * CELL.width + 2 * MARGIN);
  const height = rows * CELL.height + 2 * MARGIN;
  const percent = (ms: number) => `${((ms / durationMs) * 100).toFixed(2)}%`;
  const keyframes = lines.map(({ fromMs, untilMs }, index) => {
    const end = untilMs > 0 ? `${percent(untilMs)}{visibility:hidden}` : '';
    return `@keyframes l${index}{0%{visibility:hidden}${percent(fromMs)}{visibility:visible}${end}}`;
  });
  const texts = lines.map(({ row, text, untilMs }, index) => {
    const last = untilMs > 0 ? '' : ' class="last"';
    const y = MARGIN + row * CELL.height + 15;
    return `<text${last} y="${y}" style="animation-name:l${index}">${spans(text)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The plan of a good commit, which then reaches six gateways in three waves. A bad commit fails on the first gateway and is rolled back.">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre;visibility:hidden;animation:${durationMs.toFixed(0)}ms step-end infinite}
${keyframes.join('\n')}
@media (prefers-reduced-motion:reduce){text{animation:none!important}.last{visibility:visible}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${texts.join('\n')}
</svg>
`;
}

/** Converts a line with ANSI colours to spans, each of which begins at its column whatever the font. */
function spans(line: string): string {
  let column = 0;
  const parts: string[] = [];
  for (const part of `0m${line}`.split(CSI)) {
    const end = part.indexOf('m');
    const style = COLOURS[part.slice(0, end)];
    const text = part.slice(end + 1);
    const attributes = `x="${(MARGIN + column * CELL.width).toFixed(1)}"${style ? ` style="${style}"` : ''}`;
    if (text.trim() !== '') parts.push(`<tspan ${attributes}>${escaped(text)}</tspan>`);
    column += text.length;
  }
  return parts.join('');
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
