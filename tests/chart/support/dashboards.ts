import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { chart } from './render.ts';

/** Parts of a dashboard's model that tests look at. */
export interface Dashboard {
  file: string;
  uid: string;
  title: string;
  panels: Panel[];
  templating: { list: Variable[] };
}

export interface Panel {
  id: number;
  type: string;
  title: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: Target[];
  fieldConfig?: {
    defaults: {
      thresholds?: { steps: { color: string; value: number | null }[] };
      mappings?: Mapping[];
    };
  };
  transformations?: { id: string; options: { include?: { names: string[] } } }[];
}

/** The word for a value, or for a missing one. */
interface Mapping {
  options: { match?: string; result?: { text: string } };
}

interface Target {
  datasource?: { type: string; uid: string };
  expr: string;
  legendFormat: string;
  refId: string;
  instant: boolean;
}

interface Variable {
  name: string;
  type: string;
  datasource?: { type: string; uid: string };
  definition?: string;
}

/** A query of a panel, and how a failure calls it. */
export interface PanelQuery extends Target {
  panel: Panel;
  where: string;
}

const directory = path.join(chart, 'dashboards');

/** Reads the dashboards of the chart. */
export async function readDashboards(): Promise<Dashboard[]> {
  const files = (await readdir(directory)).sort();
  return await Promise.all(
    files.map(async (file) => ({ ...JSON.parse(await readFile(path.join(directory, file), 'utf8')), file })),
  );
}

/** Lists the queries of all panels. */
export function queriesOf({ file, panels }: Dashboard): PanelQuery[] {
  return panels.flatMap((panel) =>
    (panel.targets ?? []).map((target) => ({ ...target, panel, where: `${file}: ${panel.title} ${target.refId}` })),
  );
}

/** Puts values in the place of the variables, Grafana's own and the dashboard's. */
export function interpolate(expr: string, values: Record<string, string> = {}): string {
  const known: Record<string, string> = { __interval: '15s', __rate_interval: '1m', __range: '5m', ...values };
  return expr.replaceAll(/\$(\w+)/g, (variable, name: string) => known[name] ?? variable);
}
