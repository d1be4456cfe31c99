import { datasource, type Panel } from './grafana.ts';

/** Panels under a heading. */
export interface Row {
  title: string;
  panels: Panel[];
}

const COLUMNS = 24;

/** Places the panels from left to right in rows, and numbers them. */
export function layOut(rows: Row[]): object[] {
  let id = 0;
  let y = 0;
  const placed: object[] = [];
  for (const { title, panels } of rows) {
    placed.push({ id: ++id, type: 'row', title, collapsed: false, gridPos: { h: 1, w: COLUMNS, x: 0, y }, panels: [] });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const { width, height, ...panel } of panels) {
      if (x + width > COLUMNS) [x, y, lineHeight] = [0, y + lineHeight, 0];
      placed.push({ id: ++id, datasource, ...panel, gridPos: { h: height, w: width, x, y } });
      x += width;
      lineHeight = Math.max(lineHeight, height);
    }
    y += lineHeight;
  }
  return placed;
}
