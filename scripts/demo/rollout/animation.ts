/** The whole text of the terminal for a time (ms). */
export interface Scene {
  rows: readonly string[];
  ms: number;
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

/** Draws an animated SVG of a terminal that shows one scene after another, again and again. It begins with the last one. */
export function drawAnimation(scenes: readonly Scene[]): string {
  const durationMs = scenes.reduce((sum, { ms }) => sum + ms, 0);
  const lastMs = scenes.at(-1)?.ms ?? 0;
  const width = Math.ceil(WIDTH * CELL.width + 2 * MARGIN);
  const height = Math.max(...scenes.map(({ rows }) => rows.length)) * CELL.height + 2 * MARGIN;
  const percent = (ms: number) => `${((ms / durationMs) * 100).toFixed(2)}%`;
  let now = 0;
  const keyframes = scenes.map(({ ms }, index) => {
    const from = percent(now);
    now += ms;
    return `@keyframes s${index}{0%{visibility:hidden}${from}{visibility:visible}${percent(now)}{visibility:hidden}}`;
  });
  const groups = scenes.map(({ rows }, index) => {
    const texts = rows.map((text, row) => `<text y="${MARGIN + row * CELL.height + 15}">${spans(text)}</text>`);
    return `<g style="animation-name:s${index}">${texts.join('')}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="The plan of a good commit, which then reaches six gateways in three waves. A bad commit fails on the first gateway and is rolled back.">
<style>
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6edf3;white-space:pre}
g{visibility:hidden;animation:${durationMs.toFixed(0)}ms step-end ${(lastMs - durationMs).toFixed(0)}ms infinite}
${keyframes.join('\n')}
@media (prefers-reduced-motion:reduce){g{animation:none!important}g:last-of-type{visibility:visible}}
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0d1117"/>
${groups.join('\n')}
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
