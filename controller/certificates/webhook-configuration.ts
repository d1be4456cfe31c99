import type { AdmissionregistrationV1WebhookClientConfig, V1MutatingWebhook } from '@kubernetes/client-node';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { PatchOperation } from '../../shared/domain/kubernetes/json-patch.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';

type ClientConfig = AdmissionregistrationV1WebhookClientConfig;

interface WebhookConfiguration {
  metadata: ObjectMeta;
  webhooks?: Pick<V1MutatingWebhook, 'clientConfig'>[];
}

const ATTEMPTS = 5;

const pathOf = (name: string) =>
  groupPath('admissionregistration.k8s.io/v1', 'mutatingwebhookconfigurations', undefined, name);

/** The server of a webhook configuration, as the API server knows it. */
export interface WebhookTrust {
  /** Host names that the API server calls. */
  hosts: string[];
  /** The CAs that it trusts for all webhooks of the configuration, PEM. */
  published: string;
}

/** Reads the server names and CAs of a webhook configuration. */
export async function readWebhookTrust(client: KubernetesClient, name: string): Promise<WebhookTrust> {
  const { webhooks = [] } = await client.getAs<WebhookConfiguration>(pathOf(name));
  const bundles = new Set(webhooks.map(({ clientConfig }) => clientConfig.caBundle ?? ''));
  return {
    hosts: [...new Set(webhooks.flatMap(({ clientConfig }) => hostsOf(clientConfig)))].sort(),
    published: bundles.size === 1 ? Buffer.from([...bundles].join(''), 'base64').toString('utf8') : '',
  };
}

/** Publishes the CAs for the webhooks of a configuration; returns whether they differed. */
export async function publishCaBundle(client: KubernetesClient, name: string, bundle: string): Promise<boolean> {
  const caBundle = Buffer.from(bundle).toString('base64');
  for (let attempt = 1; ; attempt += 1) {
    const { webhooks = [], metadata } = await client.getAs<WebhookConfiguration>(pathOf(name));
    const stale = webhooks.flatMap(({ clientConfig }, index) => (clientConfig.caBundle === caBundle ? [] : [index]));
    if (stale.length === 0) return false;
    const patch: PatchOperation[] = [
      { op: 'test', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      ...stale.map((index): PatchOperation => {
        return { op: 'add', path: `/webhooks/${index}/clientConfig/caBundle`, value: caBundle };
      }),
    ];
    try {
      await client.jsonPatch(pathOf(name), patch, { query: { fieldManager: FIELD_MANAGERS.controller } });
      return true;
    } catch (error) {
      // A failed test is 422: another client changed the configuration.
      if (attempt === ATTEMPTS || !isApiError(error, 409, 422)) throw error;
    }
  }
}

function hostsOf({ service, url }: ClientConfig): string[] {
  if (service)
    return [`${service.name}.${service.namespace}.svc`, `${service.name}.${service.namespace}.svc.cluster.local`];
  return url && URL.canParse(url) ? [new URL(url).hostname.replace(/^\[|\]$/g, '')] : [];
}
