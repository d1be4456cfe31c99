import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readLabels } from '../../../../agent/content/read-labels.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

test('labels are read as the downward API writes them', async (t) => {
  const directory = await temporaryDirectory(t, 'labels-');
  const file = path.join(directory, 'labels');
  await writeFile(file, 'app="edge"\napp.kubernetes.io/name="a.b-c"\nempty=""');
  const labels = new Map([
    ['app', 'edge'],
    ['app.kubernetes.io/name', 'a.b-c'],
    ['empty', ''],
  ]);
  assert.deepEqual(await readLabels(file), labels);
  assert.deepEqual(await readLabels(undefined), new Map());
});
