import type { ObjectMeta } from '../../api/object-meta.ts';
import type { KubernetesClient } from './client.ts';
import { METADATA_LIST } from './list.ts';

/** The newest change of a collection that is known. */
export interface LastChange {
  namespace: string;
  name: string;
  resourceVersion: string;
  isDeleted: boolean;
}

/** What is known of the history of a collection. */
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
 * Whether the first of two versions of one collection is the older one. Kubernetes lets clients compare them as numbers,
 * which may have more than 53 bits (KEP-5504). Undefined if either isn't a number.
 */
export function isOlder(version: string | undefined, other: string | undefined): boolean | undefined {
  if (version === undefined || other === undefined || !VERSION.test(version) || !VERSION.test(other)) return undefined;
  return BigInt(version) < BigInt(other);
}

/**
 * Whether a watch may go on where another one was interrupted, which costs the API server one key of etcd. If etcd was
 * restored from a backup, its version is lower than ours, or has passed ours again. Then the object that changed last
 * shows it: its change is gone. The answer is as new as etcd (no `resourceVersion` is asked for), so an API server that
 * lags behind the others of its cluster can't look like a restored one.
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

/** One object of a collection. Without its namespace in the path, the API server would read all of them. */
function placeOf(path: string, { namespace, name }: LastChange) {
  const isNamespaced = path.includes('/namespaces/');
  const inNamespace = (plural: string) => `namespaces/${encodeURIComponent(namespace)}/${plural}`;
  return {
    path: isNamespaced ? path : path.replace(/[^/]+$/, inNamespace),
    fieldSelector: `metadata.name=${name.replaceAll(/[\\,=]/g, '\\$&')}`,
  };
}
