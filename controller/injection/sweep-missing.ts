import { AGENT_LABEL, POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { asksForSidecar } from '../watch/asks-for-sidecar.ts';
import { gatewayNameOf, type ObservedPod } from '../watch/observed-pod.ts';

interface PodMetadata {
  metadata: ObjectMeta;
}

interface MetadataPage {
  metadata: { continue?: string };
  /** Null rather than empty: the API server leaves it out of lists of this form. */
  items: PodMetadata[] | null;
}

const METADATA_ONLY = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1';
const PAGE = 100;
/** Pods that ended need no sidecar any more. */
const RUNNING = 'status.phase!=Succeeded,status.phase!=Failed';

/** Pods of a namespace that ask for the sidecar and were created without it: metadata only, in pages. */
export async function sweepMissing(client: KubernetesClient, namespace: string): Promise<ObservedPod[]> {
  const found: ObservedPod[] = [];
  let next: string | undefined;
  do {
    const query = { limit: PAGE, continue: next, labelSelector: `${AGENT_LABEL}!=true`, fieldSelector: RUNNING };
    const page = await client.get<MetadataPage>(corePath('pods', namespace), { query, accept: METADATA_ONLY });
    found.push(...(page.items ?? []).filter(isGateway).map(toObserved));
    next = page.metadata.continue;
  } while (next);
  return found;
}

function isGateway(pod: PodMetadata): boolean {
  return asksForSidecar(pod) && pod.metadata.deletionTimestamp === undefined;
}

function toObserved({ metadata }: PodMetadata): ObservedPod {
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    crName: metadata.annotations?.[POD_ANNOTATIONS.crName],
    gatewayName: gatewayNameOf(metadata),
    profile: metadata.annotations?.[POD_ANNOTATIONS.profile] ?? 'default',
    serviceAccountName: 'default',
    sidecar: 'missing',
    live: true,
  };
}
