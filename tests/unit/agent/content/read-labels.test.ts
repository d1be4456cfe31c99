import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readLabels } from '../../../../agent/content/read-labels.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';

test('labels are read as the downward API writes them', async (t) => {
  const { path: folder, remove } = await makeTemporaryFolder('labels-');
  t.after(remove);
  const file = path.join(folder, 'labels');
  await writeFile(file, 'app="edge"\napp.kubernetes.io/name="a.b-c"\nempty=""');
  const labels = new Map([
    ['app', 'edge'],
    ['app.kubernetes.io/name', 'a.b-c'],
    ['empty', ''],
  ]);
  assert.deepEqual(await readLabels(file), labels);
  assert.deepEqual(await readLabels(undefined), new Map());
});
