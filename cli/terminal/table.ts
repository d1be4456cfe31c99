import type { Colour, Ink } from './ink.ts';
import { cut, pad, plain, widthOf, wrap } from './text.ts';

/** A column of a table. */
export interface Column {
  title: string;
  /** On narrow terminals, columns with the highest number are omitted first; columns without a number are kept. */
  dropped?: number;
  /** Long texts are wrapped instead of cut. */
  wraps?: boolean;
}

/** A cell, with a colour if it has one. */
export type Cell = string | undefined | { text: string; colour: Colour };

const GAP = '   ';
/** Minimum width of a narrowed column. */
const MIN_WIDTH = 8;
const MIN_WRAPPED = 16;

interface Drawn extends Column {
  index: number;
  width: number;
}

/**
 * Draws a table, optionally within a width: narrows columns, then omits those that can be dropped. Empty columns are
 * omitted.
 */
export function drawTable(
  columns: readonly Column[],
  rows: readonly (readonly Cell[])[],
  { columns: limit, ink }: { columns: number | undefined; ink: Ink },
): string[] {
  const texts = rows.map((row) => row.map((cell) => plain(typeof cell === 'object' ? cell.text : (cell ?? ''))));
  const drawn = columns
    .map((column, index) => ({ ...column, index, width: widthOfColumn(column, index, texts) }))
    .filter(({ index }) => texts.some((row) => row[index]));
  const fitted = limit === undefined ? drawn : fit(drawn, limit);
  const title = fitted.map(({ title, width }) => pad(cut(title, width), width)).join(GAP);
  return [
    ink('bold', title.trimEnd()),
    ...rows.flatMap((row, index) => drawRow(fitted, row, { texts: texts[index] ?? [], ink })),
  ];
}

const widthOfColumn = ({ title }: Column, index: number, texts: readonly string[][]): number =>
  Math.max(widthOf(title), ...texts.map((row) => widthOf(row[index] ?? '')));

/** Narrows the widest columns first until the table fits, if possible. */
function fit(columns: readonly Drawn[], limit: number): Drawn[] {
  const minWidthOf = ({ width, wraps }: Drawn) => Math.min(width, wraps ? MIN_WRAPPED : MIN_WIDTH);
  const total = (widths: readonly number[]) =>
    widths.reduce((sum, width) => sum + width, 0) + GAP.length * (widths.length - 1);
  const kept = [...columns];
  while (total(kept.map(minWidthOf)) > limit) {
    const [first] = kept.filter(({ dropped }) => dropped).sort((a, b) => (b.dropped ?? 0) - (a.dropped ?? 0));
    if (!first) break;
    kept.splice(kept.indexOf(first), 1);
  }
  const fitted = kept.map((column) => ({ ...column }));
  for (let over = total(fitted.map(({ width }) => width)) - limit; over > 0; over--) {
    const wide = fitted.filter((column) => column.width > minWidthOf(column));
    const widest = wide.find(({ wraps }) => wraps) ?? wide.sort((a, b) => b.width - a.width)[0];
    if (!widest) break;
    widest.width--;
  }
  return fitted;
}

function drawRow(
  columns: readonly Drawn[],
  row: readonly Cell[],
  { texts, ink }: { texts: readonly string[]; ink: Ink },
): string[] {
  const cells = columns.map(({ index, width, wraps }) => {
    const text = texts[index] ?? '';
    const cell = row[index];
    const paint = (part: string) => (typeof cell === 'object' && part ? ink(cell.colour, part) : part);
    return { width, paint, lines: wraps ? wrap(text, width) : [cut(text, width)] };
  });
  const height = Math.max(...cells.map(({ lines }) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    cells
      .map(
        ({ width, paint, lines }) =>
          paint(lines[line] ?? '') + ' '.repeat(Math.max(0, width - widthOf(lines[line] ?? ''))),
      )
      .join(GAP)
      .trimEnd(),
  );
}
