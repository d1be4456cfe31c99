import { datasource, type Panel } from './grafana.ts';

/** Panels by title. */
export type Row = Record<string, Panel>;

const COLUMNS = 24;

/** Places the panels of each row from left to right under its heading, and numbers them. */
export function layOut(rows: Record<string, Row>): object[] {
  let id = 0;
  let y = 0;
  const placed: object[] = [];
  for (const [heading, panels] of Object.entries(rows)) {
    const gridPos = { h: 1, w: COLUMNS, x: 0, y };
    placed.push({ id: ++id, type: 'row', title: heading, collapsed: false, gridPos, panels: [] });
    y += 1;
    let x = 0;
    let lineHeight = 0;
    for (const [title, { type, width, height, ...panel }] of Object.entries(panels)) {
      if (x + width > COLUMNS) {
        x = 0;
        y += lineHeight;
        lineHeight = 0;
      }
      placed.push({ id: ++id, datasource, type, title, ...panel, gridPos: { h: height, w: width, x, y } });
      x += width;
      lineHeight = Math.max(lineHeight, height);
    }
    y += lineHeight;
  }
  return placed;
}
