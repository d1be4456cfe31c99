import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { type KubernetesClient, MERGE_PATCH, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Annotations } from './annotations-of.ts';
import type { Target } from './target.ts';

/** Sets annotations of a GatewaySync, others untouched. Throws `ApiError`, or an error with the code of a connection's. */
export type Annotate = (target: Target, annotations: Annotations, timeoutMs: number) => Promise<void>;

/** Annotates by one JSON merge patch (RFC 7386), the only call that the receiver makes. */
export function createAnnotate(client: KubernetesClient): Annotate {
  return async ({ namespace, name }, annotations, timeoutMs) => {
    const answer = await client.send({
      method: 'PATCH',
      path: gatewaySyncPath(namespace, name),
      query: { fieldManager: FIELD_MANAGERS.receiver },
      body: { metadata: { annotations } },
      contentType: MERGE_PATCH,
      accept: METADATA_ONLY, // the object itself may be large
      timeoutMs,
    });
    if (!answer.includes('"PartialObjectMetadata"')) throw notTheApiServer();
  };
}

/** A proxy's page, for one: nothing is stored, whatever status it has. */
const notTheApiServer = () =>
  Object.assign(new Error('the answer to a patch is not the object: something else than the API server answers'), {
    code: 'EPROTO',
  });
