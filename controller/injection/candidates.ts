import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Caches } from '../watch/caches.ts';
import type { InjectionCandidate } from './inject-sidecar.ts';

/** Where admission finds the GatewaySyncs that a pod may belong to. */
export interface CandidateSource {
  /** Whether the operator looks after a namespace. */
  watches: (namespace: string) => boolean;
  /** What the cache holds; undefined before it has been filled. */
  cached: (namespace: string) => InjectionCandidate[] | undefined;
  /** What the API server holds: a resource and its pods are often applied in one go. */
  live: (namespace: string) => Promise<InjectionCandidate[]>;
}

const PAGE = 500;
/** The API server waits 10 s for the whole review. */
const TIMEOUT_MS = 3_000;

/** Reads candidates from the caches of the controller and from the API server. */
export function candidateSource(
  caches: Pick<Caches, 'hasSynced' | 'gatewaySyncs'>,
  client: KubernetesClient,
  namespaces: string[],
): CandidateSource {
  return {
    watches: (namespace) => namespaces.length === 0 || namespaces.includes(namespace),
    cached: (namespace) => {
      if (!caches.hasSynced) return undefined;
      const candidates: InjectionCandidate[] = [];
      for (const gatewaySync of caches.gatewaySyncs())
        if (gatewaySync.namespace === namespace) candidates.push(toCandidate(gatewaySync));
      return candidates;
    },
    live: (namespace) => readAll(client, namespace),
  };
}

async function readAll(client: KubernetesClient, namespace: string): Promise<InjectionCandidate[]> {
  const candidates: InjectionCandidate[] = [];
  let next: string | undefined;
  do {
    const page = await client.get<{ metadata: { continue?: string }; items: GatewaySync[] }>(
      gatewaySyncPath(namespace),
      { timeoutMs: TIMEOUT_MS, query: { limit: PAGE, continue: next } },
    );
    for (const { metadata, spec } of page.items) candidates.push(toCandidate({ name: metadata.name, spec }));
    next = page.metadata.continue;
  } while (next);
  return candidates;
}

function toCandidate({ name, spec }: Pick<InjectionCandidate, 'name' | 'spec'>): InjectionCandidate {
  return { name, spec, profiles: Object.keys(spec.sync.profiles) };
}
