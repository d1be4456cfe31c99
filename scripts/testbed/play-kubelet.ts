import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import { callApi } from './call-api.ts';
import type { ServerAccess } from './cluster-access.ts';

/** The parts of an injected pod that a kubelet would use. */
export interface InjectedPod {
  metadata: { name: string; namespace: string; uid: string; labels?: Record<string, string> };
  spec: { serviceAccountName?: string; initContainers?: Container[]; volumes?: Volume[] };
}

interface Container {
  name: string;
  image: string;
  env: { name: string; value?: string; valueFrom?: { fieldRef: { fieldPath: string } } }[];
  volumeMounts: { name: string; mountPath: string }[];
}

interface Volume {
  name: string;
  downwardAPI?: object;
  secret?: { secretName: string };
  projected?: { sources: { secret?: { name: string; items: { key: string; path: string }[] } }[] };
}

/**
 * Returns the environment of a pod's sidecar as a kubelet would set it, with mounts as directories below `root`. Paths
 * in values are redirected there, and the token is passed in a kubeconfig, because there is no container here.
 */
export async function sidecarEnvironment(
  cluster: ServerAccess,
  pod: InjectedPod,
  root: string,
): Promise<Record<string, string>> {
  const sidecar = pod.spec.initContainers?.find(({ name }) => name === 'sync-agent');
  if (!sidecar) throw new Error(`pod ${pod.metadata.name} has no sidecar`);
  for (const { name, mountPath } of sidecar.volumeMounts) {
    const directory = path.join(root, mountPath);
    await mkdir(directory, { recursive: true });
    await fillVolume(cluster, { pod, volume: pod.spec.volumes?.find((volume) => volume.name === name) }, directory);
  }
  const mounts = sidecar.volumeMounts.map(({ mountPath }) => mountPath);
  const isMounted = (value: string) => mounts.some((mount) => value === mount || value.startsWith(`${mount}/`));
  const environment: Record<string, string> = {};
  for (const { name, value, valueFrom } of sidecar.env) {
    const text = value ?? fieldOf(pod, valueFrom?.fieldRef.fieldPath);
    environment[name] = isMounted(text) ? path.join(root, text) : text;
  }
  const { namespace, name } = pod.metadata;
  const account = { namespace, serviceAccount: pod.spec.serviceAccountName ?? 'default', pod: name };
  return { ...environment, KUBECONFIG: await cluster.kubeconfigFor(account) };
}

function fieldOf(pod: InjectedPod, fieldPath: string | undefined): string {
  const fields: Record<string, string> = {
    'metadata.name': pod.metadata.name,
    'metadata.namespace': pod.metadata.namespace,
    'metadata.uid': pod.metadata.uid,
    'spec.nodeName': 'node',
  };
  const value = fields[fieldPath ?? ''];
  if (value === undefined) throw new Error(`the field ${fieldPath} is not known here`);
  return value;
}

async function fillVolume(
  cluster: ServerAccess,
  { pod, volume }: { pod: InjectedPod; volume: Volume | undefined },
  directory: string,
): Promise<void> {
  if (volume?.downwardAPI) {
    const labels = Object.entries(pod.metadata.labels ?? {}).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    await writeFile(path.join(directory, 'labels'), labels.join('\n'));
  }
  for (const { secret } of volume?.projected?.sources ?? []) {
    if (!secret) continue;
    const values = await readSecret(cluster, pod.metadata.namespace, secret.name);
    const files = secret.items.map(({ key, path: file }): [string, string] => [file, values[key] ?? '']);
    await writeFiles(directory, files);
  }
  if (volume?.secret) {
    const values = await readSecret(cluster, pod.metadata.namespace, volume.secret.secretName);
    await writeFiles(directory, Object.entries(values));
  }
}

async function readSecret(cluster: ServerAccess, namespace: string, name: string): Promise<Record<string, string>> {
  const call = { path: corePath('secrets', namespace, name) };
  const { data = {} } = await callApi<{ data?: Record<string, string> }>(cluster, call);
  return data;
}

async function writeFiles(directory: string, files: [file: string, base64: string][]): Promise<void> {
  for (const [file, base64] of files) {
    await mkdir(path.dirname(path.join(directory, file)), { recursive: true });
    await writeFile(path.join(directory, file), Buffer.from(base64, 'base64'), { mode: 0o600 });
  }
}
