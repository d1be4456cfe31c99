import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../shared/log.ts';

/** A GatewaySync as it changes, with the time at which each change was seen. */
export class GatewaySyncFollower {
  #latest: GatewaySync | undefined;
  readonly #waiting = new Set<(gatewaySync: GatewaySync) => void>();

  /** Follows the only GatewaySync of a namespace until the signal aborts. */
  async run(client: KubernetesClient, namespace: string, signal: AbortSignal): Promise<void> {
    const reflector = new Reflector<GatewaySync, GatewaySync>({
      client,
      path: gatewaySyncPath(namespace),
      project: (object) => object,
      onChange: (change) => change.type === 'upserted' && this.#take(change.object),
      log: createLogger('demo', { level: 'silent' }),
    });
    await reflector.run(signal);
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
