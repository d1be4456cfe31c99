import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';

/** Field manager, and whether to take over fields of other managers. */
export interface Applying {
  fieldManager: string;
  force?: boolean;
}

/** Creates or changes an object with server-side apply, which the programs don't use. Throws `ApiError`. */
export function serverSideApply<T>(client: KubernetesClient, path: string, body: unknown, by: Applying): Promise<T> {
  const contentType = 'application/apply-patch+yaml';
  return client.request<T>({ method: 'PATCH', path, body, contentType, query: { ...by } });
}
