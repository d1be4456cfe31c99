import { GATEWAY_SYNC } from '../../shared/api/group.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath, groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { serverSideApply } from '../testbed/server-side-apply.ts';

/** What tells where an object belongs. */
export interface ApiObject {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string };
}

/** How the kinds that the demo writes are called in paths. */
const PLURALS: Record<string, string> = {
  ClusterRole: 'clusterroles',
  [GATEWAY_SYNC.kind]: GATEWAY_SYNC.plural,
  MutatingWebhookConfiguration: 'mutatingwebhookconfigurations',
  Namespace: 'namespaces',
  ServiceAccount: 'serviceaccounts',
};

/** Creates or changes an object by server-side apply. Throws `ApiError`. */
export async function applyObject(client: KubernetesClient, object: ApiObject): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const plural = PLURALS[kind];
  if (!plural) throw new Error(`the demo does not know how ${kind} is called in paths`);
  const path = apiVersion.includes('/')
    ? groupPath(apiVersion, plural, metadata.namespace, metadata.name)
    : corePath(plural, metadata.namespace, metadata.name);
  await serverSideApply(client, path, object, { fieldManager: 'stoker-demo', force: true });
}
