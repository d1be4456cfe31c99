import assert from 'node:assert/strict';
import path from 'node:path';
import { before, suite, type TestContext, test } from 'node:test';
import { readCrds, renderInstallManifest } from '../../scripts/release/release-files.ts';
import { type ControlPlane, startControlPlane } from '../../scripts/testbed/control-plane.ts';
import { differences } from '../support/differences.ts';
import { until } from '../support/until.ts';
import { crdFor, FOREIGN_KINDS } from './support/foreign-kinds.ts';
import { chart, helm, listValuesFiles, parse, type Rendered } from './support/render.ts';

/** Every manifest of the project by its name. */
let manifests: Record<string, string>;

before(async () => {
  const files = (await listValuesFiles()).map(async (file) => [
    path.basename(file),
    await helm('template', 'test', chart, '--namespace=operator', `--values=${file}`),
  ]);
  manifests = {
    ...Object.fromEntries(await Promise.all(files)),
    'install.yaml': await renderInstallManifest(),
    'crds.yaml': await readCrds(),
  };
});

/** Starts a control plane that has the kinds of other operators. */
async function start(t: TestContext): Promise<ControlPlane> {
  const cluster = await startControlPlane();
  t.after(() => cluster.stop());
  const kinds = Object.entries(FOREIGN_KINDS);
  const items = kinds.map(([kind, group]) => crdFor(kind, group));
  await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'create', '--filename=-');
  await until(() => cluster.kubectl('get', kinds.map(([kind, group]) => `${kind}.v1.${group}`).join()), {
    describe: 'the kinds to be served',
    accept: () => true, // there are no objects, so the output is empty
  });
  return cluster;
}

async function createNamespaces(cluster: ControlPlane, objects: Rendered[]): Promise<void> {
  const names = [...new Set(objects.flatMap(({ metadata }) => metadata.namespace ?? []))];
  if (names.length === 0) return;
  const items = names.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }));
  await cluster.kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'apply', '--server-side', '--filename=-');
}

suite('the API server stores every field of the manifests as it is written, so GitOps tools report no drift', () => {
  for (const [how, flags] of Object.entries({ 'client-side': [], 'server-side': ['--server-side'] })) {
    test(`after ${how} apply`, async (t) => {
      const cluster = await start(t);
      const found: string[] = [];
      for (const [name, text] of Object.entries(manifests)) {
        const objects = parse(text);
        await createNamespaces(cluster, objects);
        await cluster.kubectlWith(text, 'apply', ...flags, '--filename=-');
        const { items }: { items: Rendered[] } = JSON.parse(
          await cluster.kubectlWith(text, 'get', '--filename=-', '--output=json'),
        );
        assert.equal(items.length, objects.length, name);
        for (const [index, object] of objects.entries()) {
          const where = `${name}: ${object.kind} ${object.metadata.name} `;
          const isCustom = object.kind in FOREIGN_KINDS;
          found.push(...differences(object, items[index], { where, isCustom }));
        }
      }
      assert.deepEqual(found, []);
    });
  }
});
