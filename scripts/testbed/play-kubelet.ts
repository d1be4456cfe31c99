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
  projected?: { sources: { secret?: SecretFiles }[] };
}

/** The keys of a Secret that are files; all of them if omitted. */
interface SecretFiles {
  name: string;
  items?: { key: string; path: string }[];
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
  const { namespace, labels = {} } = pod.metadata;
  if (volume?.downwardAPI) {
    const lines = Object.entries(labels).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
    await writeFile(path.join(directory, 'labels'), lines.join('\n'));
  }
  const secrets: SecretFiles[] = (volume?.projected?.sources ?? []).flatMap(({ secret }) => secret ?? []);
  if (volume?.secret) secrets.push({ name: volume.secret.secretName });
  for (const { name, items } of secrets) {
    const call = { path: corePath('secrets', namespace, name) };
    const { data = {} } = await callApi<{ data?: Record<string, string> }>(cluster, call);
    for (const { key, path: file } of items ?? Object.keys(data).map((key) => ({ key, path: key }))) {
      const target = path.join(directory, file);
      await mkdir(path.dirname(target), { recursive: true });
      await writeFile(target, Buffer.from(data[key] ?? '', 'base64'), { mode: 0o600 });
    }
  }
}
