import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type Series, withPrometheus } from './ask-prometheus.ts';
import { DETAILED, MINUTES } from './fleet.ts';
import { renderSamples } from './samples.ts';

/** What the pictures need of a panel in Grafana's dashboard model. */
export interface Panel {
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string; instant: boolean }[];
  fieldConfig?: { defaults: FieldDefaults; overrides: Override[] };
  options?: { textMode?: string };
  transformations?: { options: { renameByName?: Record<string, string> } }[];
}

export interface FieldDefaults {
  unit?: string;
  decimals?: number;
  noValue?: string;
  custom?: { stacking?: { mode: string } };
  mappings?: { options: Record<string, { text: string; color: string }> }[];
  thresholds: { steps: { color: string; value: number | null }[] };
}

interface Override {
  matcher: { id: string; options: string };
  properties: { id: string; value: unknown }[];
}

/** A series under the name that the legend has for it. */
export interface NamedSeries extends Series {
  name: string;
}

/** A panel, and for each of its queries the series that it gave. */
export interface PanelData {
  panel: Panel;
  results: { expr: string; series: NamedSeries[] }[];
}

export interface DashboardData {
  /** Its file in the chart, without the ending. */
  name: string;
  title: string;
  description: string;
  /** What is chosen at its top, and which time it shows. */
  subtitle: string;
  panels: PanelData[];
}

/** The time that the pictures show, in seconds since 1970; the length of a step in seconds. */
export const RANGE = {
  start: Date.UTC(2026, 5, 1, 9) / 1000,
  end: Date.UTC(2026, 5, 1, 9) / 1000 + MINUTES.shown * 60,
  step: 30,
};

const folder = path.join(import.meta.dirname, '../../../chart/dashboards');

/** Runs the queries of all panels of the chart's dashboards in a Prometheus server that has watched the fleet. */
export async function readDashboardData(): Promise<DashboardData[]> {
  return await withPrometheus(await renderSamples(RANGE.start), async (ask) => {
    const find = async (target: NonNullable<Panel['targets']>[number], chosen: Record<string, string>) => {
      const range = target.instant ? { ...RANGE, start: RANGE.end } : RANGE;
      const series = await ask(interpolate(target.expr, chosen), range);
      return {
        expr: target.expr,
        series: series.map((one) => ({ ...one, name: interpolateLegend(target.legendFormat, one.labels) })),
      };
    };
    const dashboards: DashboardData[] = [];
    for (const file of (await readdir(folder)).sort()) {
      const { title, description, panels, templating } = JSON.parse(await readFile(path.join(folder, file), 'utf8'));
      const isOfOne = templating.list.some((variable: { name: string }) => variable.name === 'name');
      const chosen = isOfOne ? { ...DETAILED, pod: '.*' } : { namespace: '.*' };
      const subtitle = isOfOne ? `${DETAILED.namespace} / ${DETAILED.name}, all pods` : 'all namespaces';
      const found: PanelData[] = [];
      for (const panel of panels as Panel[])
        found.push({ panel, results: await Promise.all((panel.targets ?? []).map((target) => find(target, chosen))) });
      dashboards.push({ name: path.parse(file).name, title, description, subtitle, panels: found });
    }
    return dashboards;
  });
}

/** Puts values in the place of variables, as Grafana does with scrapes that are 15 seconds apart. */
function interpolate(expr: string, chosen: Record<string, string>): string {
  const range = `${RANGE.end - RANGE.start}s`;
  const known: Record<string, string> = { __interval: '30s', __rate_interval: '1m', __range: range, ...chosen };
  return expr.replaceAll(/\$(\w+)/g, (variable, name: string) => known[name] ?? variable);
}

const interpolateLegend = (format: string, labels: Record<string, string>): string =>
  format.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => labels[label] ?? '');
