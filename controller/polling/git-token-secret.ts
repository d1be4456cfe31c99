import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { GIT_TOKEN_SECRET_TYPE, gitTokenSecretName } from '../../shared/api/names.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/**
 * Hands a token of a GitHub App to the agents of a resource, in a Secret that goes with the resource. A Secret of that
 * name with another type is somebody else's: the API server refuses to change the type, and so does the policy.
 */
export async function writeGitToken(
  client: KubernetesClient,
  { namespace, name, uid }: ObservedGatewaySync,
  token: string,
): Promise<void> {
  const secretName = gitTokenSecretName(name);
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: GIT_TOKEN_SECRET_TYPE,
    metadata: {
      name: secretName,
      namespace,
      ownerReferences: [{ apiVersion: API_VERSION, kind: GATEWAY_SYNC.kind, name, uid }],
    },
    data: { token: Buffer.from(token).toString('base64') },
  };
  try {
    await client.create(corePath('secrets', namespace), secret);
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
    await client.replace(corePath('secrets', namespace, secretName), secret);
  }
}
