import { ApiError } from './api-error.ts';
import type { KubernetesClient, Query } from './client.ts';

/** One event of a watch; https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes. */
export type WatchEvent<T> =
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: T }
  | { type: 'BOOKMARK'; object: { metadata: { resourceVersion: string } } };

export interface WatchOptions {
  query: Query;
  signal: AbortSignal;
  /** The connection is given up after so many milliseconds without a byte. */
  idleTimeoutMs: number;
}

/** Nothing came for so long that the connection must be dead. */
export class SilenceError extends Error {
  readonly code = 'ETIMEDOUT';

  constructor() {
    super('the watch fell silent');
  }
}

/**
 * Follows the changes of a collection until the server ends the watch. Throws {@link ApiError} where the server
 * reports one in the stream, such as 410 for a version too old, {@link SilenceError}, and the error of a broken
 * connection.
 */
export async function* watch<T>(
  client: KubernetesClient,
  path: string,
  options: WatchOptions,
): AsyncGenerator<WatchEvent<T>> {
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), options.idleTimeoutMs);
  const signal = AbortSignal.any([options.signal, silence.signal]);
  try {
    const stream = await client.stream({ method: 'GET', path, query: { ...options.query, watch: true }, signal });
    for await (const line of linesOf(stream, () => timer.refresh())) {
      const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: { code?: number } };
      if (event.type === 'ERROR') throw new ApiError(event.object.code ?? 500, JSON.stringify(event.object));
      yield event;
    }
  } catch (error) {
    throw silence.signal.aborted && !options.signal.aborted ? new SilenceError() : error;
  } finally {
    clearTimeout(timer);
    silence.abort();
  }
}

async function* linesOf(stream: AsyncIterable<Buffer>, onBytes: () => void): AsyncGenerator<string> {
  let pending: Buffer[] = [];
  for await (const chunk of stream) {
    onBytes();
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
