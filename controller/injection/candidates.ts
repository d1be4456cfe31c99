import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { isObjectName } from '../../shared/domain/object-name.ts';
import { RateLimit } from '../../shared/domain/rate-limit.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Caches } from '../watch/caches.ts';
import { projectSpec } from '../watch/observed-gateway-sync.ts';
import type { InjectionCandidate } from './choose-gateway-sync.ts';
import type { KnownCandidates } from './inject-sidecar.ts';

/** Where admission finds the GatewaySyncs that a pod may belong to. */
export interface CandidateSource {
  /** Whether the operator looks after a namespace. */
  watches: (namespace: string) => boolean;
  /** What the cache holds; undefined before it has been filled. */
  cached: (namespace: string) => InjectionCandidate[] | undefined;
  /** Whether the API server may be asked once more; counts where it may. */
  mayAsk: () => boolean;
  /**
   * What the API server holds: a resource and its pods are often applied in one go. Only the resource that the pod
   * names, or the only one there is, is read; of the others the names.
   */
  live: (namespace: string, named: string | undefined) => Promise<KnownCandidates>;
}

const PAGE = 500;
/** For all calls together: the API server waits 10 s for the whole review. */
const TIMEOUT_MS = 3_000;

/**
 * How often the API server is asked for reviews that the caches would deny: nobody who makes reviews up may keep it busy.
 * Resources that are applied with their pods are in the caches a moment later, so few honest reviews need it.
 */
const ASKING = { perMinute: 60 * 60, burst: 300, maxKeys: 1 };

/** Reads candidates from the caches of the controller and from the API server. */
export function candidateSource(
  caches: Pick<Caches, 'hasSynced' | 'gatewaySyncs'>,
  client: KubernetesClient,
  namespaces: string[],
  clock: () => number = () => performance.now(),
): CandidateSource {
  const asked = new RateLimit(ASKING);
  return {
    watches: (namespace) => namespaces.length === 0 || namespaces.includes(namespace),
    cached: (namespace) => {
      if (!caches.hasSynced) return undefined;
      return [...caches.gatewaySyncs()].filter((gatewaySync) => gatewaySync.namespace === namespace);
    },
    mayAsk: () => asked.take('', clock()),
    live: (namespace, named) => readLive(client, namespace, named),
  };
}

async function readLive(
  client: KubernetesClient,
  namespace: string,
  named: string | undefined,
): Promise<KnownCandidates> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const read = async (name: string): Promise<InjectionCandidate | undefined> => {
    try {
      const { spec } = await client.get<GatewaySync>(gatewaySyncPath(namespace, name), { signal });
      return { name, spec: projectSpec(spec) };
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  };
  // An annotation may hold anything, a path has names.
  const meant = named !== undefined && isObjectName(named) ? await read(named) : undefined;
  if (meant) return { candidates: [meant] };
  const others: string[] = [];
  const options = { accept: METADATA_LIST, signal, pageSize: PAGE };
  try {
    await listObjects<{ metadata: ObjectMeta }>(client, gatewaySyncPath(namespace), options, ({ metadata }) => {
      others.push(metadata.name);
    });
  } catch (error) {
    // The CRD was deleted, so there are no resources: the pod is denied with a message that says so.
    if (!isApiError(error, 404)) throw error;
  }
  const [only] = others;
  if (named !== undefined || only === undefined || others.length > 1) return { candidates: [], others };
  const candidate = await read(only);
  return { candidates: candidate ? [candidate] : [] };
}
