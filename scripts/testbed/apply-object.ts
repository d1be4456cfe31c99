import { corePath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { callApi, type ServerDetails } from './call-api.ts';

/** An object to apply: its kind and address, and any other fields. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
  [field: string]: unknown;
}

/** Creates or changes an object with server-side apply, as an administrator would. Throws `CallError`. */
export async function applyObject(server: ServerDetails, object: ApiObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const plural = kind.toLowerCase().replace(/y$/, 'ie').concat('s');
  const path = apiVersion.includes('/')
    ? groupPath(apiVersion, plural, metadata.namespace, metadata.name)
    : corePath(plural, metadata.namespace, metadata.name);
  const query = { fieldManager: 'scripts', force: 'true' };
  await callApi(server, { method: 'PATCH', path, query, body: object, contentType: 'application/apply-patch+yaml' });
}

/** Creates a namespace with the account `default`, which only a whole control plane creates by itself. */
export async function applyNamespace(server: ServerDetails, name: string): Promise<void> {
  await applyObject(server, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const metadata = { name: 'default', namespace: name };
  await applyObject(server, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
}
