import { shortCommit } from '../fleet/gateway.ts';
import { type PlanGroup, type PlanReason, type PlanSection, type PlanView, sectionsOf } from '../fleet/plan-view.ts';
import { changeIn, countsTable, effectOf, numberOf, SHOWN, verdictOf, wavesOf } from '../fleet/plan-words.ts';
import type { Host } from '../terminal/host.ts';
import { type Colour, type Ink, inkFor } from '../terminal/ink.ts';
import { drawTable } from '../terminal/table.ts';
import { cut, plain, wrap } from '../terminal/text.ts';
import { MARKS, namesOf } from './draw-inspection.ts';
import { lead } from './draw-status.ts';

type Gateways = PlanGroup['gateways'];

const VERDICTS: Record<ReturnType<typeof verdictOf>, { glyph: string; colour: Colour }> = {
  fails: { glyph: '✘', colour: 'red' },
  changes: { glyph: '~', colour: 'yellow' },
  nothing: { glyph: '✔', colour: 'green' },
};

/** Draws a plan: counts, failures, changes, then the other gateways. */
export function drawPlan(view: PlanView, host: Host): string[] {
  const ink = inkFor(host.hasColours);
  const { glyph, colour } = VERDICTS[verdictOf(view.counts)];
  const headline = lead(sentenceOf(view), { glyph: ink(colour, glyph), columns: host.columns });
  if (view.says !== undefined) return headline;
  const sections = sectionsOf(view);
  const { failing, everyCommit } = view;
  return [
    ...headline,
    ...block(drawCounts(view, host, ink)),
    ...failing.slice(0, SHOWN.sections).flatMap((reason) => block(drawFailure(reason, host, ink))),
    ...block(fit(more(failing, 'error message'), host)),
    ...sections.slice(0, SHOWN.sections).flatMap((section) => block(drawSection(section, host, ink))),
    ...block(fit(more(sections, 'group'), host)),
    ...block(othersIn(view).flatMap((line) => fit(line, host))),
    ...block(fit(everyCommit && `every commit changes ${everyCommit}: its template uses the commit or the ref`, host)),
  ];
}

/** Describes the plan in one sentence. */
function sentenceOf({ namespace, name, ref, commit, says, counts, sampledFrom }: PlanView): string {
  const address = `${namespace}/${name}`;
  if (says !== undefined) return `${address}: ${says}`;
  const release = `${ref ?? 'the commit'}${commit && commit !== ref ? ` (${shortCommit(commit)})` : ''}`;
  const sample = sampledFrom ? `; ${counts.gateways} of ${sampledFrom} gateways were queried` : '';
  return `${address}: ${release} ${effectOf(counts)}${sample}`;
}

const block = (lines: readonly string[]): string[] => (lines.length > 0 ? ['', ...lines] : []);

function fit(text: string | undefined, { columns }: Host): string[] {
  if (!text) return [];
  return columns ? wrap(plain(text), columns) : [plain(text)];
}

function drawCounts(view: PlanView, { columns: limit }: Host, ink: Ink): string[] {
  const { columns, rows } = countsTable(view);
  const titles = columns.map(({ title, ...column }) => ({ ...column, title: title.toUpperCase() }));
  const cells = rows.map(({ wave, counts }) => [wave, ...counts.map(String)]);
  return drawTable([{ title: 'WAVE' }, ...titles], cells, { columns: limit, ink });
}

function drawFailure({ why, gateways }: PlanReason, host: Host, ink: Ink): string[] {
  const [first = '', ...others] = fit(`cannot be delivered to ${listOf(gateways)}`, host);
  const message = fit(why, { ...host, columns: host.columns && host.columns - 2 });
  return [ink('red', first), ...others.map((line) => ink('red', line)), ...message.map((line) => `  ${line}`)];
}

function drawSection(section: PlanSection, host: Host, ink: Ink): string[] {
  const { gateways, versions, paths, files } = section;
  const differs = versions > 1 ? ` (with ${versions} different contents)` : '';
  const shown = paths.slice(0, SHOWN.paths);
  const hidden = files - shown.length;
  return [
    ...fit(`${listOf(gateways)}${differs}`, host).map((line) => ink('bold', line)),
    ...shown.map((path) => drawPath(path, host, ink)),
    ...(hidden > 0 ? [`  ${ink('dim', `and ${numberOf(hidden, 'more file')}`)}`] : []),
  ];
}

function drawPath(text: string, { columns }: Host, ink: Ink): string {
  const { kind = 'modify', path } = changeIn(text);
  const { glyph, colour } = MARKS[kind];
  return `  ${ink(colour, glyph)} ${columns ? cut(plain(path), columns - 4) : plain(path)}`;
}

/** Lists gateways by name, with their number in each wave. */
function listOf(gateways: Gateways): string {
  const waves = wavesOf(gateways).map(([wave, number]) => `${wave} ${number}`);
  const inWaves = waves.length > 0 ? ` (${waves.join(', ')})` : '';
  return `${numberOf(gateways.length, 'gateway')}${inWaves}: ${namesOf(gateways)}`;
}

/** Returns a line for each reason, and for the gateways that keep their files. */
function othersIn({ silent, skipped, unchanged, done }: PlanView): string[] {
  const reasons = (title: string, all: readonly PlanReason[]) => [
    ...all.slice(0, SHOWN.sections).map(({ why, gateways }) => `${title}: ${listOf(gateways)} (${why})`),
    ...(all.length > SHOWN.sections ? [`${title}: ${more(all, 'reason')}`] : []),
  ];
  const line = (title: string, gateways: Gateways) => (gateways.length > 0 ? [`${title}: ${listOf(gateways)}`] : []);
  return [
    ...reasons('not reported', silent),
    ...reasons('skipped', skipped),
    ...line('unchanged', unchanged),
    ...line('updated already', done),
  ];
}

/** Counts the groups that aren't shown. */
function more(groups: readonly { gateways: Gateways }[], noun: string): string | undefined {
  const hidden = groups.slice(SHOWN.sections);
  const gateways = hidden.reduce((sum, group) => sum + group.gateways.length, 0);
  if (hidden.length === 0) return undefined;
  return `and ${numberOf(hidden.length, `more ${noun}`)}, with ${numberOf(gateways, 'gateway')}: use --output json`;
}
