import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createMetrics } from '../../../controller/metrics/metrics.ts';
import { RESOURCE_METRICS } from '../../../controller/metrics/resource-metrics.ts';

test('docs/metrics.md names every metric of the controller, and no other', async () => {
  const text = await readFile(path.join(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');
  const documented = [...text.matchAll(/^\| `(sync_controller_\w+)`/gm)].map(([, name]) => name).sort();
  const registered = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name);
  const served = [...registered, ...Object.keys(RESOURCE_METRICS)];
  assert.deepEqual(documented, served.filter((name) => name.startsWith('sync_controller_')).sort());
});
