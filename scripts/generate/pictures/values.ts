import type { FieldDefaults, Panel } from './dashboard-data.ts';

/** Grafana's names of colours, dark enough for a white ground. */
const COLORS: Record<string, string> = {
  green: '#37872d',
  blue: '#1f60c4',
  yellow: '#cc9d00',
  orange: '#fa6400',
  red: '#c4162a',
  text: '#24292e',
};

/** For series without a colour that means something. */
const PALETTE = ['#37872d', '#cc9d00', '#1f60c4', '#fa6400', '#c4162a', '#8f3bb8', '#0e7c86', '#7b5c3e', '#5a6470'];

export const colorOf = (name: string): string => COLORS[name] ?? '#24292e';

/** The colour of a series: that of its outcome or state, or the next of the palette. */
export function colorOfSeries(panel: Panel, name: string, index: number): string {
  for (const { matcher, properties } of panel.fieldConfig?.overrides ?? []) {
    const color = properties.find(({ id }) => id === 'color')?.value as { fixedColor: string } | undefined;
    if (color && new RegExp(matcher.options.slice(1, -1)).test(name)) return colorOf(color.fixedColor);
  }
  return PALETTE[index % PALETTE.length] ?? COLORS.text ?? '';
}

/** The word and the colour that a value has on a panel. */
export function describeValue(defaults: FieldDefaults, value: number): { text: string; color: string } {
  const word = defaults.mappings?.map(({ options }) => options[String(value)]).find(Boolean);
  const step = defaults.thresholds.steps.findLast((candidate) => candidate.value === null || candidate.value <= value);
  const decimals = defaults.decimals ?? undefined;
  const text = decimals === undefined ? formatValue(value, defaults.unit) : value.toFixed(decimals);
  return { text: word?.text ?? text, color: colorOf(word?.color ?? step?.color ?? 'text') };
}

const SIZES: Record<string, [from: number, name: string][]> = {
  s: [
    [86_400, 'days'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
    [0.001, 'ms'],
  ],
  bytes: [
    [2 ** 20, 'MiB'],
    [1, 'B'],
  ],
  percentunit: [[0.01, '%']],
  ops: [[1, 'ops/s']],
  reqps: [[1, 'req/s']],
};

/** A value with its unit, in three digits. */
export function formatValue(value: number, unit = 'short'): string {
  const sizes = SIZES[unit] ?? [[1, '']];
  const [from, name] = sizes.find(([size]) => value >= size) ?? sizes.at(-1) ?? [1, ''];
  const digits = String(Number((value / from).toPrecision(3)));
  return name && value !== 0 ? `${digits} ${name}` : digits;
}

/** The top of an axis for values up to a maximum: a number that halves well in its unit. */
export function topOfAxis(max: number, unit = 'short'): number {
  const size = (unit === 'bytes' && 2 ** 20) || (unit === 's' && max >= 60 && 60) || 1;
  if (max <= 0) return size;
  const power = 10 ** Math.floor(Math.log10(max / size));
  const factor = [1, 2, 4, 6, 8, 10].find((candidate) => candidate * power * size >= max * 0.999) ?? 10;
  return factor * power * size;
}
