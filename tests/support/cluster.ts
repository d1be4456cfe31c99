import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type ApiCall, callApi as callServer } from '../../scripts/testbed/call-api.ts';
import { accessCluster, type ClusterAccess, type ClusterDetails } from '../../scripts/testbed/cluster-access.ts';
import { startControlPlane } from '../../scripts/testbed/control-plane.ts';
import type { Scope } from './clean-up.ts';

let connection: Promise<ClusterAccess> | undefined;
/** A run doesn't save the details of its own control plane, and ends it. */
const outlivesRun = /^[^{]/.test(process.env.TEST_CLUSTER ?? '');

/**
 * Returns the control plane that all tests of a run share, with the CRDs of the checkout installed. `TEST_CLUSTER` holds its
 * details as JSON, or the path of a file with them; without it (one test file, run manually) a new one is started.
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
  // Imported late, because tests with a given cluster don't need the library.
  const { installCrds } = await import('../../scripts/testbed/install-crds.ts');
  const controlPlane = await startControlPlane();
  await installCrds(controlPlane);
  return controlPlane;
}

/** Runs kubectl as administrator of the shared control plane and returns its stdout. */
export async function kubectl(...args: string[]): Promise<string> {
  return await (await connectCluster()).kubectl(...args);
}

/** Calls the API server of the shared control plane as administrator, at a fraction of kubectl's cost; throws `CallError`. */
export async function callApi<T>(call: ApiCall): Promise<T> {
  return await callServer<T>(await connectCluster(), call);
}

/** Changes an object with a JSON merge patch, as `callApi` does. */
export async function mergePatch<T>(path: string, body: object, query: Record<string, string> = {}): Promise<T> {
  return await callApi<T>({ method: 'PATCH', path, body, query, contentType: 'application/merge-patch+json' });
}

/** Field managers of an object. */
export async function managersOf(path: string): Promise<string[]> {
  const { metadata } = await callApi<{ metadata: { managedFields?: { manager: string }[] } }>({ path });
  return [...new Set(metadata.managedFields?.map(({ manager }) => manager))].sort();
}

/** Options of an apply. */
interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

type ApplyFlag = '--dry-run' | '--force-conflicts' | `--field-manager=${string}`;

/** Applies one or more objects in the shared control plane with server-side apply, as administrator; throws `CallError`. */
export async function apply(objects: object | object[], ...flags: ApplyFlag[]): Promise<void> {
  const manager = flags.find((flag) => flag.startsWith('--field-manager='))?.split('=')[1];
  const query = {
    fieldManager: manager ?? 'kubectl',
    fieldValidation: 'Strict',
    ...(flags.includes('--force-conflicts') && { force: 'true' }),
    ...(flags.includes('--dry-run') && { dryRun: 'All' }),
  };
  for (const body of Array.isArray(objects) ? objects : [objects]) {
    const path = await pathOf(body as Manifest);
    await callApi({ method: 'PATCH', path, query, body, contentType: 'application/apply-patch+yaml' });
  }
}

/** Deletes objects in the shared control plane, as administrator; does not wait until they are gone. Throws `CallError`. */
export async function remove(objects: object[]): Promise<void> {
  for (const object of objects) await callApi({ method: 'DELETE', path: await pathOf(object as Manifest) });
}

interface Resource {
  name: string;
  kind: string;
  namespaced: boolean;
}

const resources = new Map<string, Resource[]>();

async function pathOf({ apiVersion, kind, metadata: { name, namespace = 'default' } }: Manifest): Promise<string> {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const isWanted = (candidate: Resource) => candidate.kind === kind && !candidate.name.includes('/');
  // Its CRD may have just been installed.
  if (!resources.get(root)?.some(isWanted))
    resources.set(root, (await callApi<{ resources: Resource[] }>({ path: root })).resources);
  const resource = resources.get(root)?.find(isWanted);
  if (!resource) throw new Error(`The API server knows no ${kind} of ${apiVersion}.`);
  return `${root}${resource.namespaced ? `/namespaces/${namespace}` : ''}/${resource.name}/${name}`;
}

/**
 * Creates a namespace and returns its name. It ends with the control plane, because emptying namespaces would take a fifth
 * of the CPU time of a run. If the control plane outlives the run, the namespace is deleted after the test.
 */
export async function createNamespace(t: Scope, labels: Record<string, string> = {}): Promise<string> {
  const name = `test-${randomBytes(5).toString('hex')}`;
  const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
  await callApi({ method: 'POST', path: '/api/v1/namespaces', body });
  if (outlivesRun) t.after(() => callApi({ method: 'DELETE', path: `/api/v1/namespaces/${name}` }));
  return name;
}
