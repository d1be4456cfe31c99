import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { CodedError } from '../../shared/errors.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Annotations } from './annotations-of.ts';
import type { Target } from './target.ts';

/** Sets annotations of a GatewaySync, others untouched. Throws `ApiError`, or an error with the code of a connection's. */
export type Annotate = (target: Target, annotations: Annotations, timeoutMs: number) => Promise<void>;

/** Annotates by one JSON merge patch (RFC 7386), the only call that the receiver makes. */
export function createAnnotate(client: KubernetesClient): Annotate {
  return async ({ namespace, name }, annotations, timeoutMs) => {
    const path = gatewaySyncPath(namespace, name);
    const query = { fieldManager: FIELD_MANAGERS.receiver };
    // Without its spec, which may be large.
    const options = { query, accept: METADATA_ONLY, timeoutMs };
    const answer = await client
      .mergePatch<{ kind?: string } | null>(path, { metadata: { annotations } }, options)
      .catch((error: unknown) => {
        throw error instanceof SyntaxError ? notTheApiServer() : error;
      });
    if (answer?.kind !== 'PartialObjectMetadata') throw notTheApiServer();
  };
}

/** A proxy's page, for one: nothing is stored, whatever status it has. */
const notTheApiServer = () =>
  new CodedError('the answer to a patch is not the object: something else than the API server answers', 'EPROTO');
