import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { accessCluster, type ClusterAccess, type ClusterDetails } from '../../scripts/testbed/cluster-access.ts';
import { startControlPlane } from '../../scripts/testbed/control-plane.ts';

let connection: Promise<ClusterAccess> | undefined;

/**
 * Gives the control plane that all tests of a run share, with the CRDs of the checkout installed. `TEST_CLUSTER` holds its details
 * as JSON, or the path of a file with them; without it (one test file, run by hand) one is started that ends with this process.
 */
export function connectCluster(): Promise<ClusterAccess> {
  connection ??= connect(process.env.TEST_CLUSTER);
  return connection;
}

async function connect(given: string | undefined): Promise<ClusterAccess> {
  if (given) {
    const json = given.startsWith('{') ? given : await readFile(given, 'utf8');
    return accessCluster(JSON.parse(json) as ClusterDetails);
  }
  // It loads a library that tests with a given cluster do not have to wait for.
  const { installCrds } = await import('../../scripts/testbed/install-crds.ts');
  const controlPlane = await startControlPlane();
  await installCrds(controlPlane);
  return controlPlane;
}

/** Runs kubectl as administrator of the shared control plane and gives its stdout. */
export async function kubectl(...args: string[]): Promise<string> {
  return await (await connectCluster()).kubectl(...args);
}

/** Applies objects (or YAML) on the server side in the shared control plane, as administrator. */
export async function apply(objects: string | object, ...args: string[]): Promise<void> {
  const list = Array.isArray(objects) ? { apiVersion: 'v1', kind: 'List', items: objects } : objects;
  await (await connectCluster()).kubectlWith(list, 'apply', '--server-side', '--filename', '-', ...args);
}

/** Makes a namespace with its own name and gives the name; it is deleted when the test is over. */
export async function createNamespace(t: TestContext, labels: Record<string, string> = {}): Promise<string> {
  const name = `test-${randomBytes(5).toString('hex')}`;
  const { kubectlWith, kubectl } = await connectCluster();
  await kubectlWith({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }, 'create', '--filename', '-');
  // Its contents go in the background: nobody reuses the name.
  t.after(() => kubectl('delete', 'namespace', name, '--wait=false'));
  return name;
}
