import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { watch } from '../../shared/io/kubernetes/watch.ts';

/** A GatewaySync as it changes, with the moment at which each change was seen. */
export class GatewaySyncFollower {
  #latest: GatewaySync | undefined;
  readonly #waiting = new Set<() => void>();

  /** Follows until the signal aborts. */
  async run(
    client: KubernetesClient,
    { namespace, name }: { namespace: string; name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const query = { fieldSelector: `metadata.name=${name}` };
    while (!signal.aborted) {
      try {
        for await (const event of watch<GatewaySync>(client, gatewaySyncPath(namespace), {
          query,
          signal,
          idleTimeoutMs: 600_000,
        })) {
          if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
          this.#latest = event.object;
          for (const wake of this.#waiting) wake();
        }
      } catch {
        // the watch ended: the next round begins it again
      }
    }
  }

  /** Resolves with the time (performance.now) at which the resource was first seen as wanted. */
  async until(describe: string, accept: (gatewaySync: GatewaySync) => boolean, timeoutMs = 30_000): Promise<number> {
    const found = Promise.withResolvers<number>();
    const check = () => {
      if (this.#latest && accept(this.#latest)) found.resolve(performance.now());
    };
    const timer = setTimeout(() => found.reject(new Error(`${describe}: not within ${timeoutMs / 1000} s`)), timeoutMs);
    this.#waiting.add(check);
    check();
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(check);
    }
  }
}

/** Status of the condition Ready. */
export function isReady({ status }: GatewaySync): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;
}
