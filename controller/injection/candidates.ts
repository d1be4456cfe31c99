import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { isObjectName } from '../../shared/domain/kubernetes/object-name.ts';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Caches } from '../watch/caches.ts';
import { projectSpec } from '../watch/observed-gateway-sync.ts';
import type { InjectionCandidate } from './choose-gateway-sync.ts';
import type { KnownCandidates } from './inject-sidecar.ts';

/** Source of the GatewaySyncs that a pod may belong to. */
export type CandidateSource = ReturnType<typeof candidateSource>;

const PAGE = 500;
/** Total for all calls: the API server waits 10 s for the whole review. */
const TIMEOUT_MS = 3_000;

/**
 * Limit for queries of the API server about reviews that the caches would deny, so that fabricated reviews can't
 * overload it. Resources applied with their pods are in the caches a moment later, so few real reviews need one.
 */
const QUERY_LIMIT = { perMinute: 60 * 60, burst: 300, maxKeys: 1 };

/** Reads candidates from the caches of the controller and from the API server. */
export function candidateSource(
  caches: Pick<Caches, 'hasSynced' | 'gatewaySyncs'>,
  client: KubernetesClient,
  namespaces: string[],
  clock: () => number = () => performance.now(),
) {
  const queries = new RateLimit(QUERY_LIMIT);
  return {
    /** Whether the operator manages a namespace. */
    watches: (namespace: string): boolean => namespaces.length === 0 || namespaces.includes(namespace),
    /** Content of the cache; undefined before it has been filled. */
    cached: (namespace: string): InjectionCandidate[] | undefined => {
      if (!caches.hasSynced) return undefined;
      return [...caches.gatewaySyncs()].filter((gatewaySync) => gatewaySync.namespace === namespace);
    },
    /** Whether the API server can be queried again; counts as a query if so. */
    mayQuery: (): boolean => queries.take('', clock()),
    /**
     * Content of the API server, because a resource and its pods are often applied together. Reads only the resource
     * that the pod names, or the only one; the others are listed by name.
     */
    live: (namespace: string, named: string | undefined): Promise<KnownCandidates> =>
      readLive(client, namespace, named),
  };
}

async function readLive(
  client: KubernetesClient,
  namespace: string,
  named: string | undefined,
): Promise<KnownCandidates> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const read = async (name: string): Promise<InjectionCandidate | undefined> => {
    const found = await unlessStatus(404, client.getAs<GatewaySync>(gatewaySyncPath(namespace, name), { signal }));
    return found && { name, spec: projectSpec(found.spec) };
  };
  // An annotation can contain anything, but a path contains names.
  const meant = named !== undefined && isObjectName(named) ? await read(named) : undefined;
  if (meant) return { candidates: [meant] };
  const others: string[] = [];
  const options = { accept: METADATA_LIST, signal, pageSize: PAGE };
  const note = ({ metadata }: { metadata: ObjectMeta }) => void others.push(metadata.name);
  // If the CRD was deleted, there are no resources, and the pod is denied with a message about that.
  await unlessStatus(404, listObjects(client, gatewaySyncPath(namespace), options, note));
  const [only] = others;
  if (named !== undefined || only === undefined || others.length > 1) return { candidates: [], others };
  const candidate = await read(only);
  return { candidates: candidate ? [candidate] : [] };
}
