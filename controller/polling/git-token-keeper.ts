import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { writeGitToken } from './git-token-secret.ts';
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
