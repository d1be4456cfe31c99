import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { readDashboardData } from '../../scripts/generate/pictures/dashboard-data.ts';
import { drawDashboard } from '../../scripts/generate/pictures/draw-dashboard.ts';

const checkout = path.join(import.meta.dirname, '../..');
const dashboards = await readDashboardData();

test('there are the dashboards of the chart', () => {
  assert.deepEqual(
    dashboards.map(({ name }) => name),
    ['fleet-overview', 'gatewaysync-detail'],
  );
});

for (const dashboard of dashboards) {
  suite(`in half an hour with pushes, an outage and an attack, the dashboard ${dashboard.name}`, () => {
    const panels = dashboard.panels.filter(({ panel }) => panel.type !== 'row');

    for (const { panel, results } of panels) {
      test(`has something to show on the panel ${panel.title} at ${panel.gridPos.x}, ${panel.gridPos.y}`, () => {
        assert.ok(results.length > 0);
        for (const { expr, series } of results) assert.ok(series.some(hasNumber), `no data for ${expr}`);
        if (panel.type !== 'timeseries') return;
        const values = results.flatMap(({ series }) =>
          series.flatMap(({ points }) => points.map(([, value]) => value)),
        );
        assert.ok(
          values.some((value) => value > 0),
          'all is zero',
        );
      });
    }

    test('looks as it does in the docs, or npm run generate:pictures has to run', async () => {
      const file = `docs/images/${dashboard.name}.svg`;
      assert.ok((await readFile(path.join(checkout, file), 'utf8')) === drawDashboard(dashboard), `${file} is stale`);
    });

    test('is on the page on monitoring, with a text for those who do not see it', async () => {
      const page = await readFile(path.join(checkout, 'docs/how-to/monitoring.md'), 'utf8');
      assert.match(page, new RegExp(`!\\[[^\\]]{40,}\\]\\(\\.\\./images/${dashboard.name}\\.svg\\)`));
    });
  });
}

const hasNumber = ({ points }: { points: [number, number][] }): boolean =>
  points.some(([, value]) => Number.isFinite(value));
