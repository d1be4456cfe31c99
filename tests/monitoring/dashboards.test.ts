import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { findBinaries } from '../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { makeTemporaryFolder } from '../../scripts/testbed/temporary-folder.ts';
import { interpolate, queriesOf, readDashboards } from '../chart/support/dashboards.ts';

const dashboards = await readDashboards();

test('promtool parses every query', async (t) => {
  const folder = await makeTemporaryFolder('queries-');
  t.after(() => folder.remove());
  const rules = dashboards
    .flatMap(queriesOf)
    .map(({ expr }, index) => ({ record: `query_${index}`, expr: interpolate(expr) }));
  const file = path.join(folder.path, 'rules.json');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'queries', rules }] }));
  const { promtool } = await findBinaries('promtool');
  const output = await runCommand(promtool, ['check', 'rules', file]);
  assert.match(output, new RegExp(`SUCCESS: ${rules.length} rules found`));
});
