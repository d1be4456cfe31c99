import { TerminalError, TransientError } from '../../shared/errors.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';

/** Names one key of a Secret. */
export interface SecretKeyRef {
  name: string;
  key: string;
}

/**
 * Reads one key of a Secret. Throws {@link TerminalError} with advice if it doesn't exist, and {@link TransientError} if the
 * API server is unavailable.
 */
export async function readSecret(
  client: KubernetesClient,
  namespace: string,
  { name, key }: SecretKeyRef,
): Promise<string> {
  const secret = await client
    .getAs<{ data?: Record<string, string> }>(corePath('secrets', namespace, name))
    .catch((error: unknown) => {
      if (isApiError(error, 404)) throw missing(`Secret ${namespace}/${name} doesn't exist; create it`, error);
      if (isApiError(error, 403))
        throw missing(`the operator isn't allowed to read Secret ${namespace}/${name}; check its RBAC`, error);
      throw unavailable(`the API server didn't return Secret ${namespace}/${name}; retrying`, error);
    });
  const value = secret.data?.[key];
  if (value === undefined) throw missing(`Secret ${namespace}/${name} has no key ${key}; add it`);
  return Buffer.from(value, 'base64').toString('utf8');
}

const missing = (message: string, cause?: unknown) =>
  new TerminalError(message, { code: 'secret.missing', reason: 'SecretNotFound', cause });

const unavailable = (message: string, cause: unknown) =>
  new TransientError(message, { code: 'secret.unavailable', reason: 'SecretUnavailable', cause });
