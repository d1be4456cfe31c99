// Draws the dashboards of the chart for the docs. Apart from the other generators, since it needs Prometheus.
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { readDashboardData } from './generate/pictures/dashboard-data.ts';
import { drawDashboard } from './generate/pictures/draw-dashboard.ts';

const folder = path.join(import.meta.dirname, '../docs/images');
await mkdir(folder, { recursive: true });
for (const data of await readDashboardData()) {
  await writeFile(path.join(folder, `${data.name}.svg`), drawDashboard(data));
  console.log(`wrote docs/images/${data.name}.svg`);
}
