import { isObjectName } from '../../shared/domain/kubernetes/object-name.ts';
import { Slots } from '../../shared/domain/limits/slots.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { NamedSecret } from '../injection/sidecar-volumes.ts';

/** Maximum number of Secrets read concurrently; each can have 1 MiB, and isn't kept. */
const MAX_CONCURRENT = 2;
const TIMEOUT_MS = 5_000;

/** Checks Secrets for all resources. Namespaces take turns, because a tenant may name many large ones. */
export class SecretReader {
  readonly #client: KubernetesClient;
  readonly #slots = new Slots(MAX_CONCURRENT);

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Returns a sentence about a missing Secret or key; undefined if complete. Throws errors of the API server. */
  async problemOf(namespace: string, { name, keys }: NamedSecret): Promise<string | undefined> {
    const absent = `Secret ${namespace}/${name}, which the resource names, doesn't exist; create it, because pods can't start without it`;
    if (!isObjectName(name)) return absent; // nothing else may get into a path
    try {
      const path = corePath('secrets', namespace, name);
      const get = () => this.#client.getAs<{ data?: object }>(path, { timeoutMs: TIMEOUT_MS });
      const { data = {} } = await this.#slots.run(get, namespace);
      const missing = keys.find((key) => !Object.hasOwn(data, key));
      return missing === undefined
        ? undefined
        : `Secret ${namespace}/${name} has no key ${missing}, which the resource names; add it, because pods can't start without it`;
    } catch (error) {
      if (isApiError(error, 404)) return absent;
      // In some installations, the controller isn't allowed to read all of them.
      if (isApiError(error, 403)) return undefined;
      throw error;
    }
  }
}
