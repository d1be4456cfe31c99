import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import type { ResourceName } from '../../shared/domain/kubernetes/object-name.ts';
import { CodedError } from '../../shared/errors.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Annotations } from './annotations-of.ts';

/** Sets annotations of a GatewaySync and keeps all others. Throws `ApiError`, or an error with a connection's code. */
export type Annotate = (resource: ResourceName, annotations: Annotations, timeoutMs: number) => Promise<void>;

/** Annotates with one JSON merge patch (RFC 7386), the only call that the receiver makes. */
export function createAnnotate(client: KubernetesClient): Annotate {
  return async ({ namespace, name }, annotations, timeoutMs) => {
    const path = gatewaySyncPath(namespace, name);
    const query = { fieldManager: FIELD_MANAGERS.receiver };
    // The response omits the spec, which can be large.
    const options = { query, accept: METADATA_ONLY, timeoutMs };
    const response = await client
      .mergePatch<{ kind?: string } | null>(path, { metadata: { annotations } }, options)
      .catch((error: unknown) => {
        throw error instanceof SyntaxError ? notTheApiServer() : error;
      });
    if (response?.kind !== 'PartialObjectMetadata') throw notTheApiServer();
  };
}

/** The response of a proxy, for example, which stores nothing even if its status is 200. */
const notTheApiServer = () =>
  new CodedError("the response to a patch isn't from the API server; check the proxies in front of it", 'EPROTO');
