import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { watch } from '../../shared/io/kubernetes/watch.ts';

/** Notes when the status of a resource is written, as a watch shows it. */
export class StatusWrites {
  readonly #stopping = new AbortController();
  readonly #noting: Promise<number[]>;

  constructor(client: KubernetesClient, { namespace, name }: { namespace: string; name: string }) {
    this.#noting = this.#note(client, gatewaySyncPath(namespace), name);
  }

  /** Gives the times of the writes so far, in milliseconds of the monotonic clock. */
  async stop(): Promise<number[]> {
    this.#stopping.abort();
    return await this.#noting;
  }

  async #note(client: KubernetesClient, path: string, name: string): Promise<number[]> {
    const times: number[] = [];
    let known: string | undefined;
    const query = { fieldSelector: `metadata.name=${name}` };
    const options = { query, signal: this.#stopping.signal, idleTimeoutMs: 600_000 };
    try {
      for await (const event of watch<GatewaySync>(client, path, options)) {
        if (event.type !== 'ADDED' && event.type !== 'MODIFIED') continue;
        const status = JSON.stringify(event.object.status);
        if (known !== undefined && status !== known) times.push(performance.now());
        known = status;
      }
    } catch (error) {
      if (!this.#stopping.signal.aborted) throw error;
    }
    return times;
  }
}

/** The most of the times that are within a second. */
export function busiestSecond(times: readonly number[]): number {
  const counts = times.map((from) => times.filter((time) => time >= from && time < from + 1_000).length);
  return Math.max(0, ...counts);
}
