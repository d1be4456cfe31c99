import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { serverSideApply } from './server-side-apply.ts';

/** An object to apply: its kind and address, and any other fields. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  [field: string]: unknown;
}

/** Creates or changes an object with server-side apply, as an administrator would. Throws `ApiError`. */
export async function applyObject(client: KubernetesClient, object: ApiObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const plural = kind.toLowerCase().replace(/y$/, 'ie').concat('s');
  const path = apiVersion.includes('/')
    ? groupPath(apiVersion, plural, metadata.namespace, metadata.name)
    : corePath(plural, metadata.namespace, metadata.name);
  await serverSideApply(client, path, object, { fieldManager: 'scripts', force: true });
}

/** Creates a namespace with the account `default`, which only a whole control plane creates by itself. */
export async function applyNamespace(client: KubernetesClient, name: string): Promise<void> {
  await applyObject(client, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const metadata = { name: 'default', namespace: name };
  await applyObject(client, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
}
