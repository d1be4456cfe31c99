import { datasource, type Panel, type UIDS } from './grafana.ts';

const TAG = 'stoker-operator';
const COLUMNS = 24;

/** Panels by title. */
export type Row = Record<string, Panel>;

export interface DashboardParts {
  uid: (typeof UIDS)[keyof typeof UIDS];
  title: string;
  description: string;
  variables: object[];
  /** Rows by heading. */
  rows: Record<string, Row>;
}

/** Returns a dashboard without references to an installation, and without fields that have Grafana's defaults. */
export function dashboard({ uid, title, description, variables, rows }: DashboardParts): object {
  return {
    description,
    graphTooltip: 1,
    id: null,
    links: [linkToOthers],
    panels: layOut(rows),
    refresh: '30s',
    schemaVersion: 39,
    tags: [TAG],
    templating: { list: [datasourceVariable, ...variables] },
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    title,
    uid,
    version: 1,
  };
}

const linkToOthers = {
  icon: 'external link',
  includeVars: true,
  keepTime: true,
  tags: [TAG],
  title: 'Operator dashboards',
  type: 'dashboards',
};

const datasourceVariable = {
  label: 'Data source',
  name: 'datasource',
  query: 'prometheus',
  refresh: 1,
  type: 'datasource',
};

/** Returns a variable that offers the values of the label `name` of a metric: one at a time, or several and all. */
export function labelVariable(name: string, label: string, { series = '', isMulti = false }): object {
  const query = `label_values(${series}, ${name})`;
  return {
    // "All" also matches series without the label, which a list of all values wouldn't.
    ...(isMulti && { allValue: '.*', current: { selected: true, text: ['All'], value: ['$__all'] } }),
    datasource,
    definition: query,
    includeAll: isMulti,
    label,
    multi: isMulti,
    name,
    query: { qryType: 1, query, refId: 'PrometheusVariableQueryEditor-VariableQuery' },
    refresh: 2,
    sort: 1,
    type: 'query',
  };
}

/** Places the panels of each row from left to right under its heading, and numbers them. */
function layOut(rows: Record<string, Row>): object[] {
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
