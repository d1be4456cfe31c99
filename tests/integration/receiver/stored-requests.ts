import type { TestContext } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { watch } from '../../../shared/io/kubernetes/watch.ts';

/** Every request that was ever stored in the GatewaySyncs of a namespace, in the order of their writes. */
export interface StoredRequests {
  /** Ids by the name of the resource. */
  ids: Map<string, string[]>;
}

/** Watches a namespace until the test is over; a watch reports every single write. */
export function watchStoredRequests(t: TestContext, client: KubernetesClient, namespace: string): StoredRequests {
  const abort = new AbortController();
  t.after(() => abort.abort());
  const ids = new Map<string, string[]>();
  const options = { query: { timeoutSeconds: 300 }, signal: abort.signal, idleTimeoutMs: 300_000 };
  const follow = async () => {
    for await (const { type, object } of watch<GatewaySync>(client, gatewaySyncPath(namespace), options)) {
      if (type !== 'BOOKMARK') note(ids, object.metadata);
    }
  };
  follow().catch(() => {});
  return { ids };
}

function note(ids: Map<string, string[]>, metadata: GatewaySync['metadata']): void {
  const id = metadata.annotations?.['sync.io/request-id'];
  const known = ids.get(metadata.name) ?? [];
  if (id !== undefined && known.at(-1) !== id) known.push(id);
  ids.set(metadata.name, known);
}
