import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';

/** Who applies, and whether fields of others are taken over. */
export interface Applying {
  fieldManager: string;
  force?: boolean;
}

/** Creates or changes an object by server-side apply, as no program does. Throws `ApiError`. */
export function serverSideApply<T>(client: KubernetesClient, path: string, body: unknown, by: Applying): Promise<T> {
  const contentType = 'application/apply-patch+yaml';
  return client.request<T>({ method: 'PATCH', path, body, contentType, query: { ...by } });
}
