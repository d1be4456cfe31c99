import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { apply, createNamespace } from '../support/cluster.ts';
import { sample } from '../support/depth.ts';
import { chart, helm, listValuesFiles, renderFile } from './support/render.ts';

/** Kinds of operators that the test's API server does not know. */
const isForeign = (apiVersion: string) =>
  /^(cert-manager\.io|gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//.test(apiVersion);

for (const file of sample(await listValuesFiles())) {
  test(`helm lint accepts ${path.basename(file)}, and the API server every object and field`, async (t) => {
    await helm('lint', '--strict', chart, '--values', file);
    const namespace = await createNamespace(t);
    const objects = await renderFile(file, { namespace });
    const names = objects.map(({ kind, metadata }) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`);
    assert.deepEqual(names, [...new Set(names)]);
    for (const { metadata } of objects) {
      assert.equal(metadata.labels?.['app.kubernetes.io/instance'], 'test', metadata.name);
      assert.equal(metadata.labels?.['app.kubernetes.io/managed-by'], 'Helm', metadata.name);
      // Some objects can belong to a namespace that doesn't exist.
      if (['gitops', 'grafana', 'prometheus'].includes(metadata.namespace ?? '')) metadata.namespace = namespace;
    }
    // Other tests have put the ClusterRole of the agents there already: it has one name in every installation.
    const known = objects.filter(({ apiVersion }) => !isForeign(apiVersion));
    await apply(known, '--dry-run', '--force-conflicts');
  });
}
