import {
  instantTargets,
  mappings,
  noData,
  override,
  type Panel,
  type Query,
  rangeTargets,
  thresholds,
} from './grafana.ts';

interface Common {
  title: string;
  /** A sentence that explains the panel to its reader. */
  description: string;
  width?: number;
  height?: number;
  /** Id of a unit of Grafana, such as `s` or `reqps`. */
  unit?: string;
}

/** Returns the fields that all panels begin with. */
const frame = (
  type: string,
  { title, description, width, height }: Common,
  usual: { width: number; height: number },
) => ({
  type,
  title,
  description,
  width: width ?? usual.width,
  height: height ?? usual.height,
});

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

/** Texts and colours of the condition Ready as a number. */
export const READY = mappings({
  '1': { text: 'Ready', color: 'green' },
  '0': { text: 'Not ready', color: 'red' },
  '-1': { text: 'Unknown', color: 'yellow' },
});

interface TimeSeriesPanel extends Common {
  queries: Query[];
  /** The series add up to a whole. */
  isStacked?: boolean;
  /** The series are named after outcomes or states. */
  hasOutcomes?: boolean;
}

/** Lines over time. */
export function timeSeries(panel: TimeSeriesPanel): Panel {
  const { unit = 'short', queries, isStacked = false } = panel;
  const custom = {
    drawStyle: 'line',
    fillOpacity: isStacked ? 40 : 10,
    lineInterpolation: 'linear',
    lineWidth: 1,
    showPoints: 'auto',
    spanNulls: false,
    stacking: { group: 'A', mode: isStacked ? 'normal' : 'none' },
  };
  return {
    ...frame('timeseries', panel, { width: 8, height: 8 }),
    targets: rangeTargets(queries),
    fieldConfig: {
      defaults: { color: { mode: 'palette-classic' }, custom, min: 0, thresholds: thresholds('green'), unit },
      overrides: panel.hasOutcomes ? outcomeOverrides : [],
    },
    options: {
      legend: { calcs: ['lastNotNull', 'max'], displayMode: 'table', placement: 'bottom', showLegend: true },
      tooltip: { mode: 'multi', sort: 'desc' },
    },
  };
}

interface StatPanel extends Common {
  query: Query;
  thresholds?: object;
  mappings?: object[];
  /** Text while there is no series, if that is normal. If omitted, "No data" is shown in red. */
  noValue?: string;
  decimals?: number;
  /** Shows the legend instead of the value. */
  showsName?: boolean;
}

/** One number, large. */
export function stat(panel: StatPanel): Panel {
  const { unit = 'short', query, noValue, decimals, showsName } = panel;
  const absence = noValue === undefined ? { text: 'No data', color: 'red' } : { text: noValue, color: 'text' };
  return {
    ...frame('stat', panel, { width: 4, height: 4 }),
    // For a time range, Grafana would show the last value even if it is hours old.
    targets: instantTargets([query]),
    fieldConfig: {
      defaults: {
        color: { mode: 'thresholds' },
        mappings: [...(panel.mappings ?? []), noData(absence)],
        noValue: absence.text,
        thresholds: panel.thresholds ?? thresholds('text'),
        unit,
        ...(decimals !== undefined && { decimals }),
      },
      overrides: [],
    },
    options: {
      colorMode: 'value',
      graphMode: 'none',
      justifyMode: 'auto',
      orientation: 'auto',
      reduceOptions: { calcs: ['lastNotNull'], fields: '', values: false },
      textMode: showsName ? 'name' : 'auto',
      wideLayout: true,
    },
  };
}

/** A timeline of the condition Ready with a bar for each series. */
export function readyTimeline(panel: Common & { queries: Query[] }): Panel {
  return {
    ...frame('state-timeline', panel, { width: 24, height: 6 }),
    targets: rangeTargets(panel.queries),
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
      alignValue: 'left',
      legend: { calcs: [], displayMode: 'list', placement: 'bottom', showLegend: false },
      mergeValues: true,
      rowHeight: 0.8,
      showValue: 'auto',
      tooltip: { mode: 'single', sort: 'none' },
    },
  };
}

interface TablePanel extends Common {
  queries: Query[];
  /** Columns in order, each with its label (or `Value`) and its heading. */
  columns: Record<string, string>;
  overrides?: object[];
  sortBy: { displayName: string; desc: boolean };
}

/** A table with a row for each series, at the latest values. */
export function table(panel: TablePanel): Panel {
  const { unit = 'short', queries, columns, overrides = [], sortBy } = panel;
  const indexByName = Object.fromEntries(Object.keys(columns).map((name, index) => [name, index]));
  return {
    ...frame('table', panel, { width: 12, height: 8 }),
    targets: instantTargets(queries).map((target) => ({ ...target, format: 'table' })),
    fieldConfig: {
      defaults: { custom: { align: 'auto', filterable: true }, thresholds: thresholds('text'), unit },
      overrides,
    },
    options: { cellHeight: 'sm', showHeader: true, sortBy: [sortBy] },
    transformations: [
      { id: 'filterFieldsByName', options: { include: { names: Object.keys(columns) } } },
      { id: 'organize', options: { indexByName, renameByName: columns } },
    ],
  };
}
