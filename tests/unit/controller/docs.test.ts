import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createMetrics } from '../../../controller/metrics/metrics.ts';

test('docs/metrics.md names every metric of the controller, and no other', async () => {
  const text = await readFile(path.join(import.meta.dirname, '../../../docs/metrics.md'), 'utf8');
  const documented = [...text.matchAll(/^\| `(sync_controller_\w+)`/gm)].map(([, name]) => name).sort();
  const registered = (await createMetrics().registry.getMetricsAsJSON()).map(({ name }) => name);
  assert.deepEqual(documented, registered.filter((name) => name.startsWith('sync_controller_')).sort());
});
