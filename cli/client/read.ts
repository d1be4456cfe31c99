import type { V1ContainerState, V1Pod } from '@kubernetes/client-node';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { AGENT_CONTAINER, AGENT_LABEL, RELEASE_LABELS } from '../../shared/api/names.ts';
import type { SyncRelease } from '../../shared/api/sync-release.ts';
import { type StoredRelease, storedReleaseOf } from '../../shared/domain/rollout/stored-release.ts';
import { unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { DEFAULT_TIMEOUT_MS, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import {
  corePath,
  gatewaySyncPath,
  syncReleasePath,
  syncReportPath,
} from '../../shared/io/kubernetes/resource-path.ts';
import type { Access } from './connect.ts';
import { type Attempt, attempt } from './explain.ts';
import {
  type GatewayReport,
  gatewayReportOf,
  type ObservedEvent,
  type PodIdentity,
  podIdentityOf,
} from './gateway-objects.ts';
import { withCommands } from './with-commands.ts';

const PAGE_SIZE = 250;
/** Page size of SyncReleases, whose `spec.sync` can have 1 MiB. */
export const RELEASES_PAGE = 25;
/** Field selector that excludes completed pods, which aren't gateways. */
export const PODS_THAT_LIVE = 'status.phase!=Succeeded,status.phase!=Failed';

/** State of a pod and its agent's container, as reported by the kubelet. */
interface PodState {
  name: string;
  isBeingDeleted: boolean;
  agent: V1ContainerState | undefined;
}

/** Lists GatewaySyncs of one or all namespaces, sorted by namespace and name. Throws `Problem`. */
export function listGatewaySyncs(access: Access, namespace: string | undefined): Promise<GatewaySync[]> {
  return attempt(access, listing(namespace), () => list(access, gatewaySyncPath(namespace), withCommands));
}

/** Checks that the caller can list GatewaySyncs. Throws `Problem`. */
export async function checkAccess(access: Access, namespace: string | undefined): Promise<void> {
  const query = { limit: 1 };
  await attempt(access, listing(namespace), () => access.client.getAs(gatewaySyncPath(namespace), { query }));
}

const listing = (namespace: string | undefined): Attempt => ({
  doing: `list GatewaySyncs in ${namespace ? `the namespace ${namespace}` : 'all namespaces'}`,
  namespace,
});

/** Checks whether a namespace exists; true if the caller isn't allowed to read it. Throws `Problem`. */
export function mayExist(access: Access, namespace: string): Promise<boolean> {
  return attempt(access, { doing: `read the namespace ${namespace}`, namespace }, async () => {
    const path = corePath('namespaces', undefined, namespace);
    const read = async () =>
      (await unlessStatus(404, access.client.getAs(path, { accept: METADATA_ONLY }))) !== undefined;
    return (await unlessStatus(403, read())) ?? true;
  });
}

/** Reads a GatewaySync. Throws `Problem`. */
export function getGatewaySync(access: Access, name: string, timeoutMs = DEFAULT_TIMEOUT_MS): Promise<GatewaySync> {
  const { client, namespace } = access;
  const what = { doing: `read GatewaySyncs in the namespace ${namespace}`, name, namespace };
  return attempt(access, what, async () =>
    withCommands(await client.getAs(gatewaySyncPath(namespace, name), { timeoutMs })),
  );
}

/** Reads a SyncRelease. Throws `Problem`. */
export function getRelease(access: Access, name: string): Promise<SyncRelease> {
  const { client, namespace } = access;
  const what = { doing: `read SyncReleases in the namespace ${namespace}`, kind: 'SyncRelease', name } as const;
  return attempt(access, { ...what, namespace }, () => client.getAs(syncReleasePath(namespace, name)));
}

/**
 * Lists the releases of a GatewaySync; empty if the cluster doesn't have their CRD, and undefined if the caller can't
 * list them. Throws `Problem`.
 */
export function listReleases(access: Access, name: string): Promise<StoredRelease[] | undefined> {
  const { namespace } = access;
  const options = { pageSize: RELEASES_PAGE, query: { labelSelector: `${RELEASE_LABELS.crName}=${name}` } };
  return attempt(access, { doing: `list SyncReleases in the namespace ${namespace}`, namespace }, () => {
    const read = async () =>
      (await unlessStatus(404, list(access, syncReleasePath(namespace), storedReleaseOf, options))) ?? [];
    return unlessStatus(403, read());
  });
}

/**
 * Reads the reports and the pods of gateways in a namespace, or in all of them; undefined if the caller can't. Throws
 * `Problem`.
 */
export async function readDetails(
  access: Access,
  namespace: string | undefined,
): Promise<{ reports: GatewayReport[] | undefined; pods: PodIdentity[] | undefined }> {
  const doing = `read reports in ${namespace ?? 'all namespaces'}`;
  const [reports, pods] = await Promise.all([
    attempt(access, { doing, namespace }, () =>
      unlessStatus(403, list(access, syncReportPath(namespace), gatewayReportOf)),
    ),
    listPods(access, namespace),
  ]);
  return { reports, pods };
}

function listPods(access: Access, namespace: string | undefined) {
  const query = { labelSelector: `${AGENT_LABEL}=true`, fieldSelector: PODS_THAT_LIVE };
  const doing = `list pods in ${namespace ?? 'all namespaces'}`;
  return attempt(access, { doing, namespace }, () =>
    unlessStatus(403, list(access, corePath('pods', namespace), podIdentityOf, { accept: METADATA_LIST, query })),
  );
}

/** Reads the state of the pods with a sidecar in a namespace; undefined if the caller can't. Throws `Problem`. */
export function readPodStates(access: Access, namespace: string): Promise<PodState[] | undefined> {
  const doing = `read pods in the namespace ${namespace}`;
  const query = { labelSelector: `${AGENT_LABEL}=true` };
  const stateOf = ({ metadata, status }: V1Pod): PodState => {
    const agent = status?.initContainerStatuses?.find(({ name }) => name === AGENT_CONTAINER);
    const { name = '', deletionTimestamp } = metadata ?? {};
    return { name, isBeingDeleted: !!deletionTimestamp, agent: agent?.state };
  };
  return attempt(access, { doing, namespace }, () =>
    unlessStatus(403, list(access, corePath('pods', namespace), stateOf, { query })),
  );
}

/** Lists events about a GatewaySync; undefined if the caller can't read them. Throws `Problem`. */
export function listEvents(access: Access, { metadata }: GatewaySync): Promise<ObservedEvent[] | undefined> {
  const { namespace, name, uid } = metadata;
  const fieldSelector = `involvedObject.name=${name},involvedObject.uid=${uid}`;
  return attempt(access, { doing: `read events in the namespace ${namespace}`, namespace }, () =>
    unlessStatus(
      403,
      list(access, corePath('events', namespace), (event: ObservedEvent) => event, { query: { fieldSelector } }),
    ),
  );
}

type ListParts = { accept?: string; query?: Record<string, string>; pageSize?: number };

/** Lists a collection, and keeps only a part of each object. */
async function list<TRaw, T>(
  { client }: Access,
  path: string,
  project: (object: TRaw) => T,
  options: ListParts = {},
): Promise<T[]> {
  const objects: T[] = [];
  await listObjects<TRaw>(client, path, { pageSize: PAGE_SIZE, ...options }, (object) => objects.push(project(object)));
  return objects;
}
