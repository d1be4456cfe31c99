import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { follow } from './follow.ts';

/** A GatewaySync as it changes, with the time at which each change was seen. */
export class GatewaySyncFollower {
  #latest: GatewaySync | undefined;
  readonly #waiting = new Set<(gatewaySync: GatewaySync) => void>();

  /** Follows until the signal aborts. */
  async run(
    client: KubernetesClient,
    { namespace, name }: { namespace: string; name: string },
    signal: AbortSignal,
  ): Promise<void> {
    const query = { fieldSelector: `metadata.name=${name}` };
    await follow<GatewaySync>(client, { path: gatewaySyncPath(namespace), query }, (it) => this.#take(it), signal);
  }

  #take(gatewaySync: GatewaySync): void {
    this.#latest = gatewaySync;
    for (const notify of this.#waiting) notify(gatewaySync);
  }

  /** Calls back with the current resource, and whenever it changes; returns a function that ends this. */
  listen(take: (gatewaySync: GatewaySync) => void): () => void {
    this.#waiting.add(take);
    if (this.#latest) take(this.#latest);
    return () => this.#waiting.delete(take);
  }

  /** Resolves with the time (performance.now) at which the resource was first accepted. */
  async until(describe: string, accept: (gatewaySync: GatewaySync) => boolean, timeoutMs = 30_000): Promise<number> {
    const found = Promise.withResolvers<number>();
    const timer = setTimeout(() => found.reject(new Error(`${describe}: not within ${timeoutMs / 1000} s`)), timeoutMs);
    const end = this.listen((gatewaySync) => {
      if (accept(gatewaySync)) found.resolve(performance.now());
    });
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      end();
    }
  }
}

/** Returns whether the condition Ready is True. */
export function isReady({ status }: GatewaySync): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;
}
