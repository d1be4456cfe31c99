import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesClient, Query } from '../../shared/io/kubernetes/client.ts';
import { watch } from '../../shared/io/kubernetes/watch.ts';

/** A server that ends watches at once, or refuses them, is left alone for so long. */
const PAUSE_MS = 250;

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
      // the next round begins it again
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}
