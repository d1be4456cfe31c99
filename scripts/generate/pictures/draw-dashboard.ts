import { type DashboardData, type PanelData, RANGE } from './dashboard-data.ts';
import { drawTimeSeries } from './draw-time-series.ts';
import { type Box, escapeXml, rectangle, text } from './svg.ts';
import { colorOf, describeValue } from './values.ts';

/** Width of the picture and height of a row of Grafana's grid, in pixels; columns of that grid. */
const SIZE = { width: 1200, row: 22, columns: 24 };
const HEADER = 64;
const GAP = 6;

/** Draws a dashboard with what its queries gave, as an SVG that needs nothing from elsewhere. */
export function drawDashboard({ title, description, subtitle, panels }: DashboardData): string {
  const rows = Math.max(...panels.map(({ panel: { gridPos } }) => gridPos.y + gridPos.h));
  const height = HEADER + rows * SIZE.row + GAP;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${SIZE.width} ${height}" width="${SIZE.width}" height="${height}" role="img" aria-labelledby="title description" font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif" font-size="11">`,
    `<title id="title">${escapeXml(title)}</title>`,
    `<desc id="description">${escapeXml(describe(description, panels))}</desc>`,
    rectangle({ x: 0, y: 0, width: SIZE.width, height }, { fill: '#f1f3f5', stroke: '#d0d7de', rx: 8 }),
    text(16, 28, title, { size: 18, weight: 600 }),
    text(16, 48, `${subtitle}, ${timeOf(RANGE.start)} to ${timeOf(RANGE.end)} UTC`, { size: 12, color: '#57606a' }),
    ...panels.map(drawPanel),
    '</svg>',
  ].join('\n')}\n`;
}

/** For those who cannot see it: the panels under their headings. */
function describe(description: string, panels: PanelData[]): string {
  const titles = panels.map(({ panel }) => (panel.type === 'row' ? `. ${panel.title}:` : ` ${panel.title},`)).join('');
  return `${description} Panels${titles.replaceAll(',.', '.').replace(/,$/, '.')}`;
}

const timeOf = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(11, 16);

function drawPanel(data: PanelData): string {
  const { panel } = data;
  const { gridPos } = panel;
  const column = (SIZE.width - 2 * GAP) / SIZE.columns;
  const box: Box = {
    x: GAP + gridPos.x * column + GAP / 2,
    y: HEADER + gridPos.y * SIZE.row + GAP / 2,
    width: gridPos.w * column - GAP,
    height: gridPos.h * SIZE.row - GAP,
  };
  if (panel.type === 'row') return text(box.x + 4, box.y + 13, panel.title, { size: 13, weight: 600 });
  const draw = { stat: drawStat, table: drawTable, 'state-timeline': drawTimeline }[panel.type] ?? drawTimeSeries;
  const inner = { x: box.x + 10, y: box.y + 24, width: box.width - 20, height: box.height - 30 };
  return [
    '<g>',
    rectangle(box, { fill: '#ffffff', stroke: '#d8dee4', rx: 3 }),
    text(box.x + 10, box.y + 16, panel.title, { weight: 600, width: box.width - 16 }),
    draw(data, inner),
    '</g>',
  ].join('\n');
}

const fieldsOf = ({ panel }: PanelData) => panel.fieldConfig?.defaults ?? { thresholds: { steps: [] } };
const seriesOf = ({ results }: PanelData) => results.flatMap(({ series }) => series);

function drawStat(data: PanelData, { x, y, width, height }: Box): string {
  const fields = fieldsOf(data);
  const [series] = seriesOf(data);
  const value = series?.points.at(-1)?.[1];
  const shown = value === undefined ? { text: fields.noValue ?? '', color: '#24292e' } : describeValue(fields, value);
  const words = data.panel.options?.textMode === 'name' ? (series?.name ?? '') : shown.text;
  return text(x + width / 2, y + height / 2 + 8, words, {
    size: 24,
    weight: 600,
    color: shown.color,
    anchor: 'middle',
  });
}

function drawTable(data: PanelData, { x, y, width, height }: Box): string {
  const names = data.panel.transformations?.flatMap(({ options }) => Object.entries(options.renameByName ?? {})) ?? [];
  const column = width / names.length;
  const cells = names.map(([, heading], index) => text(x + index * column, y + 10, heading, { color: '#57606a' }));
  const rows = seriesOf(data).slice(0, Math.floor(height / 18) - 1);
  for (const [row, { labels, points }] of rows.entries()) {
    for (const [index, [name]] of names.entries()) {
      const overrides = data.panel.fieldConfig?.overrides.filter(({ matcher }) => matcher.options === name) ?? [];
      const own = Object.fromEntries(
        overrides.flatMap(({ properties }) => properties.map(({ id, value }) => [id, value])),
      );
      const value = describeValue({ ...fieldsOf(data), ...own }, points.at(-1)?.[1] ?? 0);
      const cell = name === 'Value' ? value : { text: labels[name] ?? '', color: colorOf('text') };
      cells.push(text(x + index * column, y + 28 + row * 18, cell.text, { color: cell.color, width: column - 4 }));
    }
  }
  return cells.join('\n');
}

const NAME_WIDTH = 130;

function drawTimeline(data: PanelData, { x, y, width, height }: Box): string {
  const series = seriesOf(data);
  const each = Math.min(36, (height - 16) / Math.max(1, series.length));
  const step = (width - NAME_WIDTH) / ((RANGE.end - RANGE.start) / RANGE.step + 1);
  const parts = series.flatMap(({ name, points }, index) => {
    const top = y + index * each + 2;
    const stretches: { from: number; to: number; value: number }[] = [];
    for (const [time, value] of points) {
      const last = stretches.at(-1);
      if (last?.to === time && last.value === value) last.to += RANGE.step;
      else stretches.push({ from: time, to: time + RANGE.step, value });
    }
    return [
      text(x, top + each / 2 + 2, name, { width: NAME_WIDTH - 8 }),
      ...stretches.flatMap(({ from, to, value }) => {
        const left = x + NAME_WIDTH + ((from - RANGE.start) / RANGE.step) * step;
        const bar = { x: left, y: top, width: ((to - from) / RANGE.step) * step, height: each - 4 };
        const { text: word, color } = describeValue(fieldsOf(data), value);
        const label = text(left + 6, top + each / 2 + 2, word, { color: '#ffffff', width: bar.width - 8 });
        return [rectangle(bar, { fill: color }), ...(bar.width > 60 ? [label] : [])];
      }),
    ];
  });
  const times = [RANGE.start, RANGE.end].map((time, index) =>
    text(x + (index === 0 ? NAME_WIDTH : width), y + height, timeOf(time), {
      size: 10,
      color: '#57606a',
      anchor: index === 0 ? 'start' : 'end',
    }),
  );
  return [...parts, ...times].join('\n');
}
