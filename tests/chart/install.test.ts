import path from 'node:path';
import { test } from 'node:test';
import { connectCluster, createNamespace } from '../support/cluster.ts';
import { sample } from '../support/depth.ts';
import { until } from '../support/until.ts';
import { listValuesFiles, renderFile } from './support/render.ts';

/** Kinds of operators that the test's API server does not know. */
const isForeign = (apiVersion: string) =>
  /^(cert-manager\.io|gateway\.networking\.k8s\.io|monitoring\.coreos\.com)\//.test(apiVersion);

for (const file of sample(await listValuesFiles())) {
  test(`the API server accepts every object and field of ${path.basename(file)}`, async (t) => {
    const namespace = await createNamespace(t);
    const objects = (await renderFile(file, { namespace })).filter(({ apiVersion }) => !isForeign(apiVersion));
    // Some objects can belong to a namespace that doesn't exist.
    for (const { metadata } of objects) {
      if (['gitops', 'grafana', 'prometheus'].includes(metadata.namespace ?? '')) metadata.namespace = namespace;
    }
    const { kubectl, kubectlWith } = await connectCluster();
    // A new control plane creates the system namespaces with a short delay.
    const places = new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []));
    await until(() => kubectl('get', 'namespace', ...places), { describe: 'the namespaces' });
    const list = { apiVersion: 'v1', kind: 'List', items: objects };
    // Other tests have put the ClusterRole of the agents there already: it has one name in every installation.
    const flags = ['--server-side', '--force-conflicts', '--dry-run=server', '--validate=strict'];
    await kubectlWith(list, 'apply', ...flags, '--filename', '-');
  });
}
