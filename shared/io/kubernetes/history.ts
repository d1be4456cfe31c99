import type { ObjectMeta } from '../../api/object-meta.ts';
import type { KubernetesClient } from './client.ts';
import { METADATA_LIST } from './list.ts';

/** The newest known change of a collection. */
export interface LastChange {
  namespace: string;
  name: string;
  resourceVersion: string;
  isDeleted: boolean;
}

/** Known history of a collection. */
export interface Known {
  resourceVersion: string;
  lastChange: LastChange | undefined;
}

interface Page {
  metadata: { resourceVersion: string };
  items: { metadata: ObjectMeta }[] | null;
}

const VERSION = /^\d+$/;

/**
 * Returns whether the first of two versions of one collection is older. Kubernetes lets clients compare them as
 * numbers, which can exceed 53 bits (KEP-5504). Undefined if either isn't a number.
 */
export function isOlder(version: string | undefined, other: string | undefined): boolean | undefined {
  if (version === undefined || other === undefined || !VERSION.test(version) || !VERSION.test(other)) return undefined;
  return BigInt(version) < BigInt(other);
}

/**
 * Returns whether a watch can continue after an interruption, which costs the API server one read of a key in etcd. If
 * etcd was restored from a backup, its version is lower than ours, or has passed ours again. Then the object that
 * changed last reveals it, because its change is missing. The response is as new as etcd (it has no `resourceVersion`),
 * so an API server that lags behind others can't look like a restored one.
 */
export async function isContinued(
  client: KubernetesClient,
  { path, fieldSelector }: { path: string; fieldSelector: string | undefined },
  { resourceVersion, lastChange }: Known,
  signal: AbortSignal,
): Promise<boolean> {
  const place = lastChange && !fieldSelector ? placeOf(path, lastChange) : { path, fieldSelector };
  const query = { fieldSelector: place.fieldSelector, limit: 1 };
  const { metadata, items } = await client.get<Page>(place.path, { query, accept: METADATA_LIST, signal });
  if (isOlder(metadata.resourceVersion, resourceVersion) !== false) return false;
  if (!lastChange) return true;
  const found = items?.find((item) => item.metadata.name === lastChange.name);
  if (!found) return lastChange.isDeleted;
  return isOlder(found.metadata.resourceVersion, lastChange.resourceVersion) === false;
}

/** Selects one object. Without its namespace in the path, the API server would read all of them. */
function placeOf(path: string, { namespace, name }: LastChange) {
  const isNamespaced = path.includes('/namespaces/');
  const inNamespace = (plural: string) => `namespaces/${encodeURIComponent(namespace)}/${plural}`;
  return {
    path: isNamespaced ? path : path.replace(/[^/]+$/, inNamespace),
    fieldSelector: `metadata.name=${name.replaceAll(/[\\,=]/g, '\\$&')}`,
  };
}
