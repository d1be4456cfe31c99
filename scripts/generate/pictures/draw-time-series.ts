import { type NamedSeries, type PanelData, RANGE } from './dashboard-data.ts';
import { type Box, rectangle, round, text } from './svg.ts';
import { colorOfSeries, formatValue, topOfAxis } from './values.ts';

/** Pixels for the numbers at the left, the times below, and an entry of the legend. */
const ROOM = { axis: 58, times: 16, entry: 15 };
const MUTED = '#57606a';
/** Lines of the legend at most, and minutes between two times below. */
const LEGEND_LINES = 3;
const MINUTES_BETWEEN = 10;

interface Plot extends Box {
  top: number;
}

/** Draws lines over time, stacked where they are parts of a whole, with a legend of their last values. */
export function drawTimeSeries({ panel, results }: PanelData, box: Box): string {
  const { unit, custom } = panel.fieldConfig?.defaults ?? {};
  const series = results.flatMap((result) => result.series).filter(({ points }) => points.some(isFinitePoint));
  const isStacked = custom?.stacking?.mode === 'normal';
  const layers = isStacked ? stack(series) : series.map(({ points }) => ({ points, below: undefined }));
  const longest = Math.max(0, ...series.map((one) => `${one.name} ${lastValue(one, unit)}`.length));
  const perLine = Math.max(1, Math.floor(box.width / (24 + longest * 6.2)));
  const lines = Math.min(LEGEND_LINES, Math.ceil(series.length / perLine));
  const values = layers.flatMap(({ points }) => points.filter(isFinitePoint).map(([, value]) => value));
  const plot: Plot = {
    x: box.x + ROOM.axis,
    y: box.y + 4,
    width: box.width - ROOM.axis - 6,
    height: box.height - 4 - ROOM.times - lines * ROOM.entry,
    top: topOfAxis(Math.max(0, ...values), unit),
  };
  const legend = { ...box, y: box.y + box.height - lines * ROOM.entry, height: lines };
  return [
    ...drawAxes(plot, unit),
    ...layers.map(({ points, below }, index) => {
      const color = colorOfSeries(panel, series[index]?.name ?? '', index);
      const area =
        below &&
        `<path d="${lineOf(points, plot)}${lineOf(below.toReversed(), plot).replace('M', 'L')}Z" fill="${color}" fill-opacity="0.35"/>`;
      const dots = lineOf(points.filter(isAlone), plot)
        .replaceAll(/(?=M|$)/g, 'h0')
        .slice(2);
      const line = `<path d="${lineOf(points, plot)}" fill="none" stroke="${color}" stroke-width="1.5"/>`;
      return `${area ?? ''}${line}${dots && `<path d="${dots}" stroke="${color}" stroke-width="4" stroke-linecap="round"/>`}`;
    }),
    ...drawLegend({ panel, series, legend, perLine, unit }),
  ].join('\n');
}

const isFinitePoint = ([, value]: [number, number]): boolean => Number.isFinite(value);

/** Whether no line leads to a point. */
const isAlone = ([time]: [number, number], index: number, points: [number, number][]): boolean =>
  [points[index - 1], points[index + 1]].every(
    (other) => !other || !isFinitePoint(other) || Math.abs(other[0] - time) > RANGE.step,
  );

const lastValue = ({ points }: NamedSeries, unit: string | undefined): string =>
  formatValue(points.findLast(isFinitePoint)?.[1] ?? 0, unit);

/** Adds up the series, each on top of those before it; a value that is missing counts as nothing. */
function stack(series: NamedSeries[]) {
  const sums = new Map<number, number>();
  for (let time = RANGE.start; time <= RANGE.end; time += RANGE.step) sums.set(time, 0);
  return series.map(({ points }) => {
    const below = [...sums];
    for (const [time, value] of points.filter(isFinitePoint)) sums.set(time, (sums.get(time) ?? 0) + value);
    return { points: [...sums], below };
  });
}

function lineOf(points: [number, number][], { x, y, width, height, top }: Plot): string {
  let last: number | undefined;
  return points
    .filter(isFinitePoint)
    .map(([time, value]) => {
      const isNext = last !== undefined && Math.abs(time - last) <= RANGE.step;
      last = time;
      const left = x + ((time - RANGE.start) / (RANGE.end - RANGE.start)) * width;
      return `${isNext ? 'L' : 'M'}${round(left)} ${round(y + height - (value / top) * height)}`;
    })
    .join('');
}

function drawAxes({ x, y, width, height, top }: Plot, unit: string | undefined): string[] {
  const levels = [0, 0.5, 1].flatMap((share) => {
    const level = y + height * (1 - share);
    return [
      `<path d="M${round(x)} ${round(level)}H${round(x + width)}" stroke="#e6e9ec"/>`,
      text(x - 6, level + 3.5, formatValue(top * share, unit), { size: 10, color: MUTED, anchor: 'end' }),
    ];
  });
  const times: string[] = [];
  for (let time = RANGE.start; time <= RANGE.end; time += MINUTES_BETWEEN * 60) {
    const left = x + ((time - RANGE.start) / (RANGE.end - RANGE.start)) * width;
    const anchor = time === RANGE.end ? 'end' : time === RANGE.start ? 'start' : 'middle';
    const words = new Date(time * 1000).toISOString().slice(11, 16);
    times.push(text(left, y + height + 12, words, { size: 10, color: MUTED, anchor }));
  }
  return [...levels, ...times];
}

interface Legend {
  panel: PanelData['panel'];
  series: NamedSeries[];
  legend: Box;
  perLine: number;
  unit: string | undefined;
}

/** Names with their last values; how many are left out where there are too many. */
function drawLegend({ panel, series, legend, perLine, unit }: Legend): string[] {
  const places = legend.height * perLine;
  const shown = series.length > places ? series.slice(0, places - 1) : series;
  const at = (index: number) => ({
    x: legend.x + (index % perLine) * (legend.width / perLine),
    y: legend.y + 12 + Math.floor(index / perLine) * ROOM.entry,
  });
  const entries = shown.map((one, index) => {
    const { x, y } = at(index);
    const swatch = rectangle({ x, y: y - 8, width: 9, height: 9 }, { fill: colorOfSeries(panel, one.name, index) });
    return `${swatch}${text(x + 14, y, one.name, { note: lastValue(one, unit) })}`;
  });
  const { x, y } = at(places - 1);
  return shown.length === series.length
    ? entries
    : [...entries, text(x + 14, y, `and ${series.length - shown.length} more`, { color: MUTED })];
}
