/**
 * Parts of Grafana's dashboard model that the dashboards use; https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/.
 * Without @grafana/grafana-foundation-sdk: its builders for this model are deprecated, don't number the panels, and take
 * as many lines for a panel.
 */
export interface Panel {
  type: string;
  description: string;
  /** Columns of 24. */
  width: number;
  /** Units of 30 pixels. */
  height: number;
  targets: object[];
  fieldConfig: { defaults: object; overrides: object[] };
  options: object;
  transformations?: object[];
}

/** A query in PromQL, and the name of its series in the legend. */
export interface Query {
  expr: string;
  legend?: string;
  /** Id of the unit in Grafana, such as `s` or `reqps`; default: a plain number. */
  unit?: string;
}

/** The data source that is selected at the top of the dashboard. */
export const datasource = { type: 'prometheus', uid: '$datasource' } as const;

/** Uid of each dashboard, which links refer to. */
export const UIDS = { fleet: 'stoker-operator-fleet', gatewaySync: 'stoker-operator-gatewaysync' } as const;

/** Letters that name the queries of one panel. */
const refIds = 'ABCDEFGH';

/** Queries over the time range of the dashboard, or of the latest values. */
export function targets(queries: Query[], { instant = false } = {}): object[] {
  return queries.map(({ expr, legend = '' }, index) => ({
    datasource,
    editorMode: 'code',
    expr,
    legendFormat: legend,
    refId: refIds.charAt(index),
    range: !instant,
    instant,
  }));
}

/** Returns colours by value: each step applies from its value on, `first` below all. */
export function thresholds(first: string, ...steps: [value: number, color: string][]): object {
  const further = steps.map(([value, color]) => ({ color, value }));
  return { mode: 'absolute', steps: [{ color: first, value: null }, ...further] };
}

/** Returns texts for single values. */
export function mappings(words: Record<string, { text: string; color: string }>): object[] {
  const options = Object.entries(words).map(([value, word], index) => [value, { ...word, index }]);
  return [{ type: 'value', options: Object.fromEntries(options) }];
}

/** Returns the properties of fields with a name, or with names that match. */
export function override(name: string | RegExp, properties: Record<string, unknown>): object {
  return {
    matcher: typeof name === 'string' ? { id: 'byName', options: name } : { id: 'byRegexp', options: String(name) },
    properties: Object.entries(properties).map(([id, value]) => ({ id, value })),
  };
}
