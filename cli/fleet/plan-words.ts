import type { PlanCounts, PlanView } from './plan-view.ts';

/** Returns the result of a plan for all gateways. Gateways that have not reported, or are skipped, count as changed. */
export function verdictOf({ counts, failing }: Pick<PlanView, 'counts' | 'failing'>): 'fails' | 'changes' | 'nothing' {
  if (counts.failing + failing.length > 0) return 'fails';
  return counts.changed + counts.silent + counts.skipped > 0 ? 'changes' : 'nothing';
}

/** Formats a number with its noun, such as `1 file` or `2 files`. */
export const numberOf = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

/** Describes the effect of a release, such as `would change 3 of 40 gateways (6 files in total)`. */
export function effectOf({ gateways, changed, failing, silent, skipped, files }: PlanView['counts']): string {
  const effects: [number, before: string, after?: string][] = [
    [failing, 'cannot be delivered to'],
    [changed, 'would change', files > 0 ? ` (${numberOf(files, 'file')} in total)` : ''],
    [silent, 'may change', ' without a plan'],
    [skipped, 'skips'],
  ];
  const total = numberOf(gateways, 'gateway');
  const parts = effects
    .filter(([number]) => number > 0)
    .map(([number, before, after = ''], index) => `${before} ${number}${index === 0 ? ` of ${total}` : ''}${after}`);
  return parts.length > 0 ? LIST.format(parts) : `would change nothing on ${total}`;
}

const LIST = new Intl.ListFormat('en');

/** Follows the commit in the plan of an edit. */
export const EDITED = ' with the edited spec.sync';

/** Maximum sections, reasons, and paths of a section that are shown. `--output json` prints all. */
export const SHOWN = { sections: 20, paths: 20 };

interface CountColumn {
  key: keyof PlanCounts;
  title: string;
  /** On narrow terminals, columns with the highest number are omitted first. */
  dropped?: number;
}

const COLUMNS: readonly CountColumn[] = [
  { key: 'gateways', title: 'gateways', dropped: 2 },
  { key: 'changed', title: 'changed' },
  { key: 'failing', title: 'failing' },
  { key: 'silent', title: 'not reported', dropped: 1 },
  { key: 'unchanged', title: 'unchanged', dropped: 3 },
  { key: 'done', title: 'updated', dropped: 4 },
  { key: 'skipped', title: 'skipped', dropped: 5 },
];

/** A table with a row per wave, or one row if the waves are unknown. */
export interface CountsTable {
  columns: CountColumn[];
  rows: { wave?: string; counts: number[] }[];
}

/** Returns the table without columns that are always 0. */
export function countsTable({ waves, counts }: Pick<PlanView, 'waves' | 'counts'>): CountsTable {
  const columns = COLUMNS.filter(({ key }) => key === 'gateways' || key === 'changed' || counts[key] > 0);
  const numbers = (row: PlanCounts) => columns.map(({ key }) => row[key]);
  const rows = waves?.map((wave) => ({ wave: wave.name, counts: numbers(wave) }));
  return { columns, rows: rows ?? [{ counts: numbers(counts) }] };
}

/** Counts the gateways of each wave, in the order of the waves; empty if the waves are unknown. */
export function wavesOf(
  gateways: readonly { wave?: string }[],
  { waves = [] }: Pick<PlanView, 'waves'>,
): [wave: string, gateways: number][] {
  const counts = new Map(waves.map(({ name }) => [name, 0]));
  for (const { wave = '' } of gateways) counts.set(wave, (counts.get(wave) ?? 0) + 1);
  return waves.map(({ name }): [string, number] => [name, counts.get(name) ?? 0]).filter(([, number]) => number > 0);
}

/** A change that a report lists, such as `modify etc/a.conf (TakenOver)`. */
export interface ListedChange {
  /** Missing if the text was shortened. */
  kind?: 'add' | 'modify' | 'delete';
  path: string;
  reason?: string;
}

/** Reasons of changes in reports. A compromised gateway can report any text in their place. */
const REASONS = [
  'ContentChanged',
  'Drifted',
  'Missing',
  'ModeChanged',
  'New',
  'NoLongerMapped',
  'PatchesChanged',
  'PublishChanged',
  'TakenOver',
  'ValuesChanged',
];
const LISTED = new RegExp(`^(?:(add|modify|delete) )?(.*?)(?: \\((${REASONS.join('|')})\\))?$`, 's');

/** Splits a listed change. */
export function changeIn(text: string): ListedChange {
  const [, kind, path = text, reason] = LISTED.exec(text) ?? [];
  return { path, ...(kind && { kind: kind as 'add' }), ...(reason && { reason }) };
}

/** Joins the parts of a listed change. */
export const changeText = ({ kind, path, reason }: ListedChange): string =>
  `${kind ? `${kind} ` : ''}${path}${reason ? ` (${reason})` : ''}`;

/** Splits a listed change, without a reason that its kind implies. */
export function shownChange(text: string): ListedChange {
  const { reason = '', ...change } = changeIn(text);
  return ['', 'New', 'ContentChanged', 'NoLongerMapped'].includes(reason) ? change : { ...change, reason };
}
