import { shortHashes } from '../fleet/messages.ts';
import { type PlanSummary, type PlanSummaryGroup, summarizePlan } from '../fleet/plan-summary.ts';
import type { PlanView } from '../fleet/plan-view.ts';
import { type CountsTable, type ListedChange, numberOf } from '../fleet/plan-words.ts';
import type { Host } from '../terminal/host.ts';
import { type Colour, type Ink, inkFor } from '../terminal/ink.ts';
import { drawTable } from '../terminal/table.ts';
import { cut, plain, wrap } from '../terminal/text.ts';
import { MARKS } from './draw-inspection.ts';
import { lead } from './draw-status.ts';

const VERDICTS: Record<PlanSummary['verdict'], { glyph: string; colour: Colour }> = {
  fails: { glyph: '✘', colour: 'red' },
  changes: { glyph: '~', colour: 'yellow' },
  nothing: { glyph: '✔', colour: 'green' },
};

/** Draws a plan: counts, failures, changes, then the other gateways. */
export function drawPlan(view: PlanView, host: Host): string[] {
  const ink = inkFor(host.hasColours);
  const { verdict, says, counts, failing, groups, others, ...summary } = summarizePlan(view);
  const { glyph, colour } = VERDICTS[verdict];
  const text = `${view.namespace}/${view.name}: ${shortHashes(says)}`;
  const headline = lead(text, { glyph: ink(colour, glyph), columns: host.columns });
  if (view.says !== undefined) return [...headline, ...failing.flatMap(({ why }) => fit(shortHashes(why), host))];
  return [
    ...headline,
    ...block(drawCounts(counts, host, ink)),
    ...failing.flatMap((failure) => block(drawFailure(failure, host, ink))),
    ...block(fit(summary.moreFailing, host)),
    ...groups.flatMap((group) => block(drawGroup(group, host, ink))),
    ...block(fit(summary.moreGroups, host)),
    ...block(others.flatMap((line) => fit(line, host))),
    ...block(fit(summary.note, host)),
  ];
}

const block = (lines: readonly string[]): string[] => (lines.length > 0 ? ['', ...lines] : []);

function fit(text: string | undefined, { columns }: Pick<Host, 'columns'>): string[] {
  if (!text) return [];
  return columns ? wrap(plain(text), columns) : [plain(text)];
}

function drawCounts({ columns, rows }: CountsTable, { columns: limit }: Host, ink: Ink): string[] {
  const titles = columns.map(({ title, ...column }) => ({ ...column, title: title.toUpperCase() }));
  const cells = rows.map(({ wave, counts }) => [wave, ...counts.map(String)]);
  return drawTable([{ title: 'WAVE' }, ...titles], cells, { columns: limit, ink });
}

function drawFailure({ who, why }: PlanSummary['failing'][number], { columns }: Host, ink: Ink): string[] {
  const headline = fit(`cannot be delivered to ${who}`, { columns });
  const message = fit(shortHashes(why), { columns: columns && columns - 2 });
  return [...headline.map((line) => ink('red', line)), ...message.map((line) => `  ${line}`)];
}

function drawGroup({ who, changes, hidden }: PlanSummaryGroup, host: Host, ink: Ink): string[] {
  return [
    ...fit(who, host).map((line) => ink('bold', line)),
    ...changes.map((change) => drawChange(change, host, ink)),
    ...(hidden > 0 ? [`  ${ink('dim', `and ${numberOf(hidden, 'more file')}`)}`] : []),
  ];
}

function drawChange({ kind = 'modify', path, reason }: ListedChange, { columns }: Host, ink: Ink): string {
  const { glyph, colour } = MARKS[kind];
  const after = reason ? `   ${reason}` : '';
  const shown = columns ? cut(plain(path), columns - 4 - after.length) : plain(path);
  return `  ${ink(colour, glyph)} ${shown}${after && ink('dim', after)}`;
}
