import { omit } from '../../shared/domain/text/objects.ts';
import type { AnswerView, ChangeView, InspectionView } from '../fleet/inspection.ts';
import { shortCommit } from '../fleet/messages.ts';
import { namesOf } from '../fleet/names.ts';
import type { Host } from '../terminal/host.ts';
import { type Colour, type Ink, inkFor } from '../terminal/ink.ts';
import { drawTable } from '../terminal/table.ts';
import { plain, plainLine } from '../terminal/text.ts';

export const MARKS: Record<ChangeView['kind'], { glyph: string; colour: Colour }> = {
  add: { glyph: '+', colour: 'green' },
  modify: { glyph: '~', colour: 'yellow' },
  delete: { glyph: '-', colour: 'red' },
};

/** Draws responses. Gateways with identical ones share a section. */
export function drawInspection({ kind, answers }: InspectionView, host: Host): string[] {
  const groups = new Map<string, AnswerView[]>();
  for (const answer of answers) {
    const key = JSON.stringify(omit(answer, 'gateway', 'pod'));
    groups.set(key, [...(groups.get(key) ?? []), answer]);
  }
  return [...groups.values()].flatMap((group, index) => [...(index > 0 ? [''] : []), ...drawGroup(kind, group, host)]);
}

function drawGroup(kind: InspectionView['kind'], group: readonly AnswerView[], host: Host): string[] {
  const [first] = group;
  if (!first) return [];
  const ink = inkFor(host.hasColours);
  const { changes, more, problem } = first;
  const lead = ink(problem ? 'red' : 'bold', plain(`${namesOf(group)}: ${says(kind, first)}`));
  if (changes.length === 0) return [lead];
  const rows = changes.map(({ kind: what, path, source, reason, mode, leftOut }) => [
    { text: MARKS[what].glyph, colour: MARKS[what].colour },
    path,
    source === path ? '' : source,
    mode ? `${reason} (${mode})` : reason,
    leftOut && { text: leftOut, colour: 'dim' as const },
  ]);
  const columns = [
    { title: '' },
    { title: 'FILE' },
    { title: 'IN GIT', dropped: 2 },
    { title: 'WHY', dropped: 1 },
    { title: 'NO CONTENT', wraps: true },
  ];
  return [
    lead,
    '',
    ...drawTable(columns, rows, { columns: host.columns, ink }),
    ...(more > 0 ? [ink('dim', `and ${more} more`)] : []),
    ...changes.flatMap(({ diff }) => (diff ? ['', ...drawDiff(diff, ink)] : [])),
  ];
}

function says(kind: InspectionView['kind'], { ref, commit, problem, changes, more }: AnswerView): string {
  if (problem) return problem;
  const count = changes.length + more;
  const files = count === 1 ? '1 file' : `${count} files`;
  const what = `${ref ?? 'it'}${commit ? ` (${shortCommit(commit)})` : ''}`;
  if (kind === 'diff') return count === 0 ? `${what} would change nothing` : `${what} would change ${files}`;
  return count === 0 ? `all files match ${what}` : `${files} ${count === 1 ? 'differs' : 'differ'} from ${what}`;
}

const LINE_COLOURS: Record<string, Colour> = { '+': 'green', '-': 'red', '@': 'cyan' };

/** Draws a diff in the colours of git, without control characters. */
export function drawDiff(diff: string, ink: Ink): string[] {
  const lines: string[] = [];
  let isHeader = true;
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    // Lines of content have a different first character.
    if (line.startsWith('diff --git ')) isHeader = true;
    if (line.startsWith('@@ ')) isHeader = false;
    const colour = isHeader ? 'bold' : LINE_COLOURS[line[0] ?? ''];
    const text = plainLine(line);
    lines.push(colour && text ? ink(colour, text) : text);
  }
  return lines;
}
