import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { GIT_TOKEN_SECRET_TYPE, gitTokenSecretName } from '../../shared/api/names.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { type GithubApps, RENEW_BEFORE_MS } from './github-app.ts';

/** After a failure, and as a lower bound, in milliseconds. */
const RETRY_MS = 60_000;

/**
 * Keeps the agents of resources with a GitHub App supplied with tokens: the private key stays with the controller.
 * This goes on while a resource is paused, so that its pods can start.
 */
export class GitTokenKeeper {
  readonly #client: KubernetesClient;
  readonly #apps: GithubApps;
  readonly #handedOver = new Map<ObjectKey, string>();

  constructor(client: KubernetesClient, apps: GithubApps) {
    this.#client = client;
    this.#apps = apps;
  }

  /** Writes the current token where it is new; gives the milliseconds until this is due again. */
  async supply(key: ObjectKey, gatewaySync: ObservedGatewaySync): Promise<number | undefined> {
    const { namespace, uid, spec } = gatewaySync;
    if (!spec.git.auth?.githubApp) return undefined;
    const { token, expiresAt } = await this.#apps.token({ namespace, git: spec.git });
    const state = `${uid} ${token}`;
    if (this.#handedOver.get(key) !== state) {
      await writeGitToken(this.#client, gatewaySync, token);
      this.#handedOver.set(key, state);
    }
    return Math.max(RETRY_MS, expiresAt - RENEW_BEFORE_MS - Date.now());
  }

  forget(key: ObjectKey): void {
    this.#handedOver.delete(key);
  }
}

/**
 * Hands a token of a GitHub App to the agents of a resource, in a Secret that goes with the resource. A Secret of that
 * name with another type is somebody else's: the API server refuses to change the type, and so does the policy.
 */
async function writeGitToken(
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
