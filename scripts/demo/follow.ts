import { setTimeout as sleep } from 'node:timers/promises';
import type { KubernetesClient, Query } from '../../shared/io/kubernetes/client.ts';
import { watch } from '../../shared/io/kubernetes/watch.ts';

/** Delay before the next watch if a server ends or refuses watches at once (ms). */
const PAUSE_MS = 250;

/** Calls back with each object of a collection, and whenever it changes, until the signal aborts. */
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
      // the next iteration starts it again
    }
    await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}
