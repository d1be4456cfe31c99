import type {
  V1DaemonSetStatus,
  V1JobSpec,
  V1JobStatus,
  V1ObjectMeta,
  V1ReplicaSetSpec,
  V1ReplicaSetStatus,
} from '@kubernetes/client-node';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import type { AsJson } from '../../shared/api/object-meta.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects } from '../../shared/io/kubernetes/list.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';

/** A workload that wants pods with the sidecar and can't create them. */
export interface UnmadePods {
  /** GatewaySync that its pod template names. */
  crName: string | undefined;
  /** The workload and, if it is known, the cause: one line. */
  description: string;
}

/** Lists the workloads of a kind that want annotated pods and lack some. Throws errors of the API server. */
export async function listUnmadePods(
  client: KubernetesClient,
  { name: kind, apiVersion, resource, lacksPods }: WorkloadKind,
  { namespace, signal }: { namespace: string; signal: AbortSignal },
): Promise<UnmadePods[]> {
  const found: UnmadePods[] = [];
  const path = groupPath(apiVersion, resource, namespace);
  await listObjects<Workload>(client, path, { query: FROM_CACHE, pageSize: PAGE, signal }, (workload) => {
    const annotations = workload.spec?.template?.metadata?.annotations ?? {};
    if (annotations[POD_ANNOTATIONS.inject] !== 'true' || workload.metadata?.deletionTimestamp) return;
    if (!lacksPods(workload)) return;
    found.push({ crName: annotations[POD_ANNOTATIONS.crName], description: describe(kind, workload) });
  });
  return found;
}

/** Makes the API server respond from its cache instead of etcd, with a state that may be outdated. */
export const FROM_CACHE = { resourceVersion: '0' };

const PAGE = 50;
/** Maximum length of a description (characters). */
const MAX_LENGTH = 300;

/** The fields of all kinds. */
interface Workload {
  metadata?: AsJson<V1ObjectMeta>;
  spec?: Partial<AsJson<V1ReplicaSetSpec & V1JobSpec>>;
  status?: Partial<AsJson<V1ReplicaSetStatus & V1DaemonSetStatus & V1JobStatus>>;
}

interface Condition {
  type: string;
  status: string;
  message?: string;
}

interface WorkloadKind {
  name: string;
  apiVersion: string;
  resource: string;
  lacksPods: (workload: Workload) => boolean;
}

/** ReplicaSets are those of Deployments, and of other controllers such as Argo Rollouts. */
export const WORKLOAD_KINDS: WorkloadKind[] = [
  { name: 'ReplicaSet', apiVersion: 'apps/v1', resource: 'replicasets', lacksPods: lacksReplicas },
  { name: 'StatefulSet', apiVersion: 'apps/v1', resource: 'statefulsets', lacksPods: lacksReplicas },
  {
    name: 'DaemonSet',
    apiVersion: 'apps/v1',
    resource: 'daemonsets',
    lacksPods: ({ status }) => (status?.desiredNumberScheduled ?? 0) > (status?.currentNumberScheduled ?? 0),
  },
  {
    name: 'Job',
    apiVersion: 'batch/v1',
    resource: 'jobs',
    lacksPods: ({ spec, status }) =>
      !spec?.suspend &&
      !status?.active &&
      !isFinished(status?.conditions) &&
      Math.min(spec?.completions ?? 1, spec?.parallelism ?? 1) > 0,
  },
];

function lacksReplicas({ spec, status }: Workload): boolean {
  return (spec?.replicas ?? 1) > (status?.replicas ?? 0);
}

const isFinished = (conditions?: Condition[]): boolean =>
  Boolean(findTrue(conditions, 'Complete') ?? findTrue(conditions, 'Failed'));

function findTrue(conditions: Condition[] = [], condition: string): Condition | undefined {
  return conditions.find(({ type, status }) => type === condition && status === 'True');
}

function describe(kind: string, { metadata, status }: Workload): string {
  const cause = findTrue(status?.conditions, 'ReplicaFailure')?.message;
  const text = [`${kind} ${metadata?.name}`, cause].filter(Boolean).join(': ');
  return oneLine(text, MAX_LENGTH);
}
