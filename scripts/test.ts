import { glob } from 'node:fs/promises';
import { availableParallelism, constants } from 'node:os';
import path from 'node:path';
import { buildBundles } from './demo/build-bundles.ts';
import type { ClusterDetails } from './testbed/cluster-access.ts';
import { type ControlPlane, startControlPlane } from './testbed/control-plane.ts';
import { findBinaries } from './testbed/find-binaries.ts';
import { startGuarded } from './testbed/guarded-process.ts';
import { installCrds } from './testbed/install-crds.ts';
import { step } from './testbed/step.ts';

const root = path.join(import.meta.dirname, '..');
const groups = ['unit', 'integration', 'chart'];
const usage = `usage: npm test -- [${groups.join('|')}|all|test file]… [option of node --test]…`;

/** The test files that arguments name; none name everything but the end-to-end tests, which have a script of their own. */
async function selectFiles(names: string[]): Promise<string[]> {
  const chosen = names.length === 0 || names.includes('all') ? groups : names;
  const files = new Set<string>();
  for (const name of chosen) {
    const pattern = groups.includes(name) ? `tests/${name}/**/*.test.ts` : path.relative(root, path.resolve(name));
    const before = files.size;
    for await (const match of glob(pattern, { cwd: root })) files.add(match);
    if (files.size === before && !groups.includes(name)) throw new Error(`${name}: no such group or file; ${usage}`);
  }
  return [...files].sort();
}

/** Unit tests touch nothing outside; the others share one API server. */
async function prepareCluster(files: string[]): Promise<ControlPlane | undefined> {
  const isChart = (file: string) => file.startsWith(path.join('tests', 'chart', ''));
  if (files.every((file) => file.startsWith(path.join('tests', 'unit', '')))) return undefined;
  await findBinaries('etcd', 'kube-apiserver', 'kube-controller-manager', 'kubectl');
  if (files.some(isChart)) await findBinaries('helm', 'kubeconform', 'prometheus', 'promtool');
  const controlPlane = await step('Starting a Kubernetes control plane', () => startControlPlane());
  await step('Installing the CRDs', () => installCrds(controlPlane));
  return controlPlane;
}

/** Runs Node's test runner, guarded: it ends with this process, and with it all test files that it runs. */
async function runTests(files: string[], flags: string[], cluster: ClusterDetails | undefined): Promise<number> {
  const args = [
    '--test',
    '--test-reporter=spec',
    // Integration tests wait more than they compute.
    `--test-concurrency=${Math.max(2, availableParallelism())}`,
    '--test-timeout=120000',
    ...flags,
    ...files,
  ];
  const env = { ...process.env, ...(cluster && { TEST_CLUSTER: JSON.stringify(cluster) }) };
  const runner = startGuarded(process.execPath, args, { cwd: root, env, output: 'inherit' });
  runner.child.ref();
  const { code, signal } = await runner.exited;
  return code ?? 128 + constants.signals[signal ?? 'SIGTERM'];
}

const flags = process.argv.slice(2).filter((argument) => argument.startsWith('-'));
const names = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
let controlPlane: ControlPlane | undefined;
try {
  const files = await selectFiles(names);
  if (files.length === 0) throw new Error(`There are no tests to run; ${usage}`);
  await buildBundles();
  controlPlane = await prepareCluster(files);
  process.exitCode = await runTests(files, flags, controlPlane);
} catch (error) {
  console.error((error as Error).message);
  process.exitCode = 1;
} finally {
  await controlPlane?.stop();
}
