import { datasource, type UIDS } from './grafana.ts';
import { layOut, type Row } from './lay-out.ts';

const TAG = 'stoker-operator';

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
  hide: 0,
  includeAll: false,
  label: 'Data source',
  multi: false,
  name: 'datasource',
  options: [],
  query: 'prometheus',
  refresh: 1,
  regex: '',
  skipUrlSync: false,
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
    hide: 0,
    includeAll: isMulti,
    label,
    multi: isMulti,
    name,
    options: [],
    query: { qryType: 1, query, refId: 'PrometheusVariableQueryEditor-VariableQuery' },
    refresh: 2,
    regex: '',
    skipUrlSync: false,
    sort: 1,
    type: 'query',
  };
}
