import { Pacer } from '../pacer.ts';
import type { ApiRequest, KubernetesClient } from './client.ts';
import { ListSplitter } from './list-splitter.ts';

/** Requests only the metadata of the objects of a list. */
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';

/** Time without data after which a page is aborted (ms). */
export const IDLE_TIMEOUT_MS = 30_000;

export interface ListOptions extends Pick<ApiRequest, 'query' | 'accept' | 'signal'> {
  /** Page size, which limits the API server's memory. */
  pageSize: number;
}

/**
 * Reads a collection in pages, object by object as they arrive. Returns the version of the list. Can throw after some
 * of the objects.
 */
export async function listObjects<T>(
  client: KubernetesClient,
  path: string,
  { pageSize, query, ...options }: ListOptions,
  onObject: (object: T) => void,
): Promise<string> {
  let next: string | undefined;
  let version = '';
  do {
    const page = { ...options, query: { ...query, limit: pageSize, continue: next } };
    const metadata = await readPage(client, path, page, onObject);
    next = metadata.continue;
    version = metadata.resourceVersion;
  } while (next);
  return version;
}

interface ListMetadata {
  resourceVersion: string;
  continue?: string;
}

async function readPage<T>(
  client: KubernetesClient,
  path: string,
  options: Omit<ListOptions, 'pageSize'>,
  onObject: (object: T) => void,
): Promise<ListMetadata> {
  const splitter = new ListSplitter();
  const pacer = new Pacer();
  const idleTimeoutMs = client.callTimeoutMs ?? IDLE_TIMEOUT_MS;
  for await (const chunk of client.chunks({ method: 'GET', path, ...options }, idleTimeoutMs)) {
    for (const json of splitter.push(chunk)) {
      onObject(JSON.parse(json) as T);
      if (pacer.isDue) await pacer.rest();
    }
  }
  return (JSON.parse(splitter.end()) as { metadata: ListMetadata }).metadata;
}
