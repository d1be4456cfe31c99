import type { V1Secret } from '@kubernetes/client-node';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { AsJson } from '../../shared/api/object-meta.ts';
import type { ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';

/** Content of the Secret with a self-signed certificate, PEM. */
export interface WebhookSecret {
  'ca.crt': string;
  'ca.key': string;
  'tls.crt': string;
  'tls.key': string;
  /** CAs that signed earlier certificates, published for a while longer. */
  'previous-ca.crt'?: string;
}

type Stored = AsJson<Pick<V1Secret, 'metadata' | 'data'>>;

const REQUIRED_KEYS = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;

/**
 * Reads the Secret, passes it to `renew`, and writes the result if it differs. Several replicas may do this at the
 * same time: the first write wins, and the others start over from it.
 */
export async function ensureWebhookSecret(
  client: KubernetesClient,
  metadata: ResourceName,
  renew: (current: WebhookSecret | undefined) => WebhookSecret,
): Promise<WebhookSecret> {
  for (let attempt = 0; ; attempt += 1) {
    const stored = await unlessStatus(
      404,
      client.getAs<Stored>(corePath('secrets', metadata.namespace, metadata.name)),
    );
    const current = stored && decode(stored);
    const renewed = renew(current);
    if (renewed === current) return current;
    try {
      await write(client, { metadata, stored }, renewed);
      return renewed;
    } catch (error) {
      if (!isApiError(error, 404, 409) || attempt === 5) throw error;
    }
  }
}

function decode({ data = {} }: Stored): WebhookSecret | undefined {
  const entries = [...REQUIRED_KEYS, 'previous-ca.crt'].flatMap((key) => {
    const text = Buffer.from(data[key] ?? '', 'base64').toString('utf8');
    return text.includes('-----BEGIN ') ? [[key, text]] : [];
  });
  const found = Object.fromEntries(entries) as Partial<WebhookSecret>;
  return REQUIRED_KEYS.every((key) => found[key]) ? (found as WebhookSecret) : undefined;
}

async function write(
  client: KubernetesClient,
  { metadata, stored }: { metadata: ResourceName; stored: Stored | undefined },
  content: WebhookSecret,
): Promise<void> {
  const { namespace, name } = metadata;
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    // The chart creates an empty Secret, so that it is deleted with the release. Its type is immutable.
    type: 'Opaque',
    metadata: stored?.metadata ?? { name, namespace },
    data: Object.fromEntries(Object.entries(content).map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
  };
  const options = { query: { fieldManager: FIELD_MANAGERS.controller } };
  if (stored) await client.replace(corePath('secrets', namespace, name), secret, options);
  else await client.create(corePath('secrets', namespace), secret, options);
}
