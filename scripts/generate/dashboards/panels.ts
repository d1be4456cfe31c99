import { mappings, override, type Panel, type Query, targets, thresholds } from './grafana.ts';

/** Colours of outcomes and states, the same on every panel. */
const OUTCOME_COLORS = {
  green: /^(added|patched|ready|stored|success|synced)$/,
  blue: /^(dryRun|dry_run|ignored|modified|paused|unchanged)$/,
  yellow: /^(denied|pending|skewed|unknown)$/,
  orange: /^(invalid|missingSidecar)$/,
  red: /^(deleted|error|failed|failure|not ready|refused)$/,
};

const outcomeOverrides = Object.entries(OUTCOME_COLORS).map(([fixedColor, names]) =>
  override(names, { color: { mode: 'fixed', fixedColor } }),
);

/** Returns whether the series of a query are named after outcomes or states. */
const hasOutcomes = ({ legend = '' }: Query): boolean =>
  /^\{\{(?:change|outcome|result|state)\}\}$/.test(legend) ||
  Object.values(OUTCOME_COLORS).some((names) => names.test(legend));

/** Texts and colours of the condition Ready as a number. */
export const READY = mappings({
  '1': { text: 'Ready', color: 'green' },
  '0': { text: 'Not ready', color: 'red' },
  '-1': { text: 'Unknown', color: 'yellow' },
});

interface LinesOptions {
  /** Replaces the unit of the queries. */
  unit?: string;
  /** The series add up to a whole. */
  isStacked?: boolean;
  width?: number;
}

/** Lines over time; `description` is a sentence that explains the panel to its reader, as in all panels. */
export function lines(description: string, queries: Query[], options: LinesOptions = {}): Panel {
  const { unit = queries[0]?.unit ?? 'short', isStacked = false, width = 8 } = options;
  const custom = {
    fillOpacity: isStacked ? 40 : 10,
    stacking: { group: 'A', mode: isStacked ? 'normal' : 'none' },
  };
  return {
    type: 'timeseries',
    description,
    width,
    height: 8,
    targets: targets(queries),
    fieldConfig: {
      defaults: { color: { mode: 'palette-classic' }, custom, min: 0, thresholds: thresholds('green'), unit },
      overrides: queries.some(hasOutcomes) ? outcomeOverrides : [],
    },
    options: {
      legend: { calcs: ['lastNotNull', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };
}

interface StatOptions {
  thresholds?: object;
  mappings?: object[];
  /** Text while there is no series, if that is normal. If omitted, "No data" is shown in red. */
  noValue?: string;
  decimals?: number;
  width?: number;
}

/** One number, large; or a name, if the query has a legend. */
export function stat(description: string, { expr, legend, unit = 'short' }: Query, options: StatOptions = {}): Panel {
  const { noValue, decimals, width = 4 } = options;
  const absence = noValue === undefined ? { text: 'No data', color: 'red' } : { text: noValue, color: 'text' };
  const noData = { type: 'special', options: { match: 'null+nan', result: { ...absence, index: 99 } } };
  return {
    type: 'stat',
    description,
    width,
    height: 4,
    // For a time range, Grafana would show the last value even if it is hours old.
    targets: targets([legend === undefined ? { expr } : { expr, legend }], { instant: true }),
    fieldConfig: {
      defaults: {
        color: { mode: 'thresholds' },
        mappings: [...(options.mappings ?? []), noData],
        noValue: absence.text,
        thresholds: options.thresholds ?? thresholds('text'),
        unit,
        ...(decimals !== undefined && { decimals }),
      },
      overrides: [],
    },
    options: {
      colorMode: 'value',
      graphMode: 'none',
      textMode: legend === undefined ? 'auto' : 'name',
    },
  };
}

/** A timeline of the condition Ready with a bar for each series. */
export function readyTimeline(description: string, query: Query, { width = 24, height = 6 } = {}): Panel {
  return {
    type: 'state-timeline',
    description,
    width,
    height,
    targets: targets([query]),
    fieldConfig: {
      defaults: {
        color: { mode: 'thresholds' },
        custom: { fillOpacity: 70, lineWidth: 0 },
        mappings: READY,
        thresholds: thresholds('text'),
      },
      overrides: [],
    },
    options: {
      legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: false },
      rowHeight: 0.8,
      tooltip: { mode: 'single', sort: 'none' },
    },
  };
}

interface TableOptions {
  /** Columns in order, each with its label (or `Value`) and its heading. The first one is sorted. */
  columns: Record<string, string>;
  overrides?: object[];
  width?: number;
}

/** A table with a row for each series, at the latest values. */
export function table(description: string, expr: string, options: TableOptions): Panel {
  const { columns, overrides = [], width = 12 } = options;
  const indexByName = Object.fromEntries(Object.keys(columns).map((name, index) => [name, index]));
  const sortBy = [{ displayName: Object.values(columns)[0], desc: false }];
  return {
    type: 'table',
    description,
    width,
    height: 8,
    targets: targets([{ expr }], { instant: true }).map((target) => ({ ...target, format: 'table' })),
    fieldConfig: {
      defaults: { custom: { align: 'auto', filterable: true }, thresholds: thresholds('text'), unit: 'short' },
      overrides,
    },
    options: { sortBy },
    transformations: [
      { id: 'filterFieldsByName', options: { include: { names: Object.keys(columns) } } },
      { id: 'organize', options: { indexByName, renameByName: columns } },
    ],
  };
}
