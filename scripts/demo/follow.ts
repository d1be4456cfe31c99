import type { KubernetesClient, Query } from '../../shared/io/kubernetes/client.ts';
import { watch } from '../../shared/io/kubernetes/watch.ts';

/** Hands over each object of a collection as it is now, and whenever it changes, until the signal aborts. */
export async function follow<T>(
  client: KubernetesClient,
  { path, query = {} }: { path: string; query?: Query },
  take: (object: T) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const event of watch<T>(client, path, { query, signal, idleTimeoutMs: 600_000 })) {
        if (event.type === 'ADDED' || event.type === 'MODIFIED') take(event.object);
      }
    } catch {
      // the watch ended: the next round begins it again
    }
  }
}
