import { ApiError } from './api-error.ts';
import type { KubernetesClient, Query } from './client.ts';

/** One event of a watch; https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes. */
export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string } } };

export interface WatchOptions {
  query: Query;
  accept?: string;
  signal: AbortSignal;
  /** Time without data after which the connection is closed (ms). */
  idleTimeoutMs: number;
}

/**
 * Yields the changes of a collection until the server ends the watch. Throws {@link ApiError} for an error in the
 * stream, such as 410 for an expired version, {@link SilenceError}, and the error of a broken connection.
 */
export async function* watch<T>(
  client: KubernetesClient,
  path: string,
  { query, idleTimeoutMs, ...options }: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const request = { method: 'GET', path, query: { ...query, watch: true }, ...options } as const;
  for await (const line of linesOf(client.chunks(request, idleTimeoutMs))) {
    const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: { code?: number } };
    if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, JSON.stringify(event.object));
    yield event;
  }
}

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  let pending: Buffer[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      pending.push(chunk.subarray(start, end));
      yield Buffer.concat(pending).toString('utf8');
      pending = [];
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
  }
}
