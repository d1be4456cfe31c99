import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { sample } from '../support/depth.ts';
import { chart, helm, listValuesFiles, renderFile } from './support/render.ts';

for (const file of sample(await listValuesFiles())) {
  test(`helm lint accepts ${path.basename(file)}`, async () => {
    await helm('lint', '--strict', chart, '--values', file);
  });

  test(`every object of ${path.basename(file)} has the common labels and a unique name`, async () => {
    const objects = await renderFile(file);
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
    assert.deepEqual(names, [...new Set(names)]);
    for (const { metadata } of objects) {
      assert.equal(metadata.labels?.['app.kubernetes.io/instance'], 'test', metadata.name);
      assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'Helm', metadata.name);
    }
  });
}
