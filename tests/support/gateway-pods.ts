import { randomUUID } from 'node:crypto';
import { API_VERSION, SYNC_REPORT } from '../../shared/api/group.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, mergePatch } from './cluster.ts';

/** A pod as a user writes it, with a data volume and the annotation that requests the sidecar. */
export function gatewayPod(namespace: string, name: string, annotations: Record<string, string> = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, annotations: { 'sync.io/inject': 'true', ...annotations } },
    spec: {
      securityContext: { runAsUser: 2003, runAsGroup: 2003, fsGroup: 2003 },
      containers: [{ name: 'gateway', image: 'gateway:1', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      volumes: [{ name: 'data', emptyDir: {} }],
    },
  };
}

/** A pod after injection, for tests without an admission endpoint. */
export function injectedPod(namespace: string, name: string, crName: string, serviceAccountName = 'default') {
  const pod = gatewayPod(namespace, name, { 'sync.io/cr-name': crName, 'sync.io/injected': 'true' });
  return {
    ...pod,
    metadata: { ...pod.metadata, labels: { 'sync.io/agent': 'true' } },
    spec: {
      ...pod.spec,
      serviceAccountName,
      initContainers: [{ name: 'sync-agent', image: 'agent:1', restartPolicy: 'Always' }],
    },
  };
}

/** Sets the status of a pod as its kubelet does when all its containers are ready. */
export async function markReady(namespace: string, name: string): Promise<void> {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await mergePatch(`${corePath('pods', namespace, name)}/status`, { status });
}

/** Reads the UID of a pod. */
async function podUID(namespace: string, name: string): Promise<string> {
  const pod = await callApi<{ metadata: { uid: string } }>({ path: corePath('pods', namespace, name) });
  return pod.metadata.uid;
}

/** Writes a report like the agent of a pod; `ownerUID` may be the UID of another pod. */
export async function report(
  { namespace, name, ownerUID }: { namespace: string; name: string; ownerUID?: string },
  status: Partial<SyncReportStatus>,
): Promise<void> {
  const uid = ownerUID ?? (await podUID(namespace, name));
  await apply({
    apiVersion: API_VERSION,
    kind: SYNC_REPORT.kind,
    metadata: { name, namespace, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid }] },
    status: { podUID: uid, state: 'Synced', agentVersion: 'test', ...status },
  });
}

/** A UID that no pod has. */
export const outsiderUID = (): string => randomUUID();
