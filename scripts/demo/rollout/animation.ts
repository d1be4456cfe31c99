/** The whole text of the terminal for a time (ms). */
export interface Scene {
  rows: readonly string[];
  ms: number;
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
const CELL = { width: 8.4, height: 20 };
const MARGIN = 16;
/** Number of columns. */
const WIDTH = 72;

const COLOURS: Record<string, string> = {
  '1': 'fill:#fff;font-weight:bold',
  '2': 'fill:#8b949e',
  '31': 'fill:#ff7b72',
  '32': 'fill:#7ee787',
  '33': 'fill:#e3b341',
  '36': 'fill:#76e3ea',
  '90': 'fill:#6e7681',
};

/** Draws an animated SVG of a terminal. Text that stays from one scene to the next is drawn once. */
export function drawAnimation(scenes: readonly Scene[]): string {
  const lines: Line[] = [];
  let now = 0;
  for (const { rows, ms } of scenes) {
    for (const [row, text] of rows.entries()) {
      const last = lines.findLast((line) => line.row === row);
      if (last?.text === text) continue;
      if (last) last.untilMs = now;
      lines.push({ row, text, fromMs: now, untilMs: 0 });
    }
    now += ms;
  }
  return toSvg(lines, { durationMs: now, rows: Math.max(...scenes.map(({ rows }) => rows.length)) });
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
