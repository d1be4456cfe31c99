import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS, GIT_TOKEN_SECRET_TYPE, gitTokenSecretName } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { isObserved } from '../../shared/domain/kubernetes/is-observed.ts';
import { splitKey } from '../../shared/domain/kubernetes/object-name.ts';
import { isApiError, unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import { backoff } from '../polling/back-off.ts';
import { type GithubApps, RENEW_BEFORE_MS, type TokenRequest, tokenHostOf, tokenKeyOf } from '../polling/github-app.ts';
import type { HostCall, HostLimiter } from '../polling/host-limiter.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';

/** Minimum time between two renewals of a token (ms): it can expire as soon as it is issued. */
const MIN_WAIT_MS = 60_000;

export interface GitTokenKeeperOptions {
  client: KubernetesClient;
  apps: GithubApps;
  limiter: HostLimiter;
  /** Called for the resources that need a token, after the request for it. */
  enqueue: (key: ObjectKey) => void;
  /** Time after which a Secret is checked again (ms), because a user can delete it. */
  checkMs?: number;
  log: Logger;
}

/**
 * A request for a token, or the time of the next one. Times are milliseconds of a monotonic clock; `failingSince` is
 * undefined after a success.
 */
type Attempt =
  | { kind: 'running'; failingSince: number | undefined; call: HostCall }
  | { kind: 'done'; failingSince: number | undefined; retryAt: number };

/** The token of a resource. */
interface Supplied {
  tokenKey: string;
  request: TokenRequest;
  stored: StoredToken | undefined;
}

/** A token that a Secret holds. */
interface StoredToken {
  /** Identifies the token, and the resource that it is for. */
  id: string;
  secretUID: string;
  /** When it was checked last: milliseconds of a monotonic clock. */
  checkedAt: number;
}

/** The fields of a Secret that are read before its token is removed. */
interface TokenSecret {
  type?: string;
  metadata: ObjectMeta;
  data?: { token?: string };
}

const CHECK_MS = 60_000;

const WRITE_OPTIONS = { accept: METADATA_ONLY, query: { fieldManager: FIELD_MANAGERS.controller } };

/**
 * Supplies the agents of resources with a GitHub App with tokens, because the private key stays with the controller. This
 * continues while a resource is paused, so that its pods can start. Nothing here waits for GitHub: either there is a token,
 * or the resource is enqueued later.
 */
export class GitTokenKeeper {
  readonly #options: GitTokenKeeperOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #supplied = new Map<ObjectKey, Supplied>();

  constructor(options: GitTokenKeeperOptions) {
    this.#options = options;
  }

  /**
   * Writes the current token if it is new, or if its Secret is gone. Returns the time until this is due again (ms), or
   * undefined if `enqueue` is called before that. Throws errors of the API server.
   */
  async supply(key: ObjectKey, gatewaySync: ObservedGatewaySync): Promise<number | undefined> {
    const { namespace, uid, spec } = gatewaySync;
    if (!spec.git.auth?.githubApp) {
      this.forget(key);
      await this.#empty(gatewaySync);
      return undefined;
    }
    const supplied = this.#use(key, { namespace, git: spec.git });
    const known = this.#options.apps.known(supplied.request);
    if (!known) return this.#requestToken(supplied);
    const id = `${uid} ${known.token}`;
    if (!(await this.#isStored(gatewaySync, supplied, id))) {
      const secretUID = await writeGitToken(this.#options.client, gatewaySync, known.token);
      supplied.stored = { id, secretUID, checkedAt: performance.now() };
    }
    return Math.max(MIN_WAIT_MS, known.expiresAt - RENEW_BEFORE_MS - Date.now());
  }

  /**
   * Takes the token out of the Secret once the resource no longer has a GitHub App. The Secret stays: that takes no
   * permission to delete Secrets, and pods that still mount it can start. Looks only until the status shows the edit.
   */
  async #empty({ namespace, name, generation, status }: ObservedGatewaySync): Promise<void> {
    if (!isObserved(status) || status.observedGeneration === generation) return;
    const { client } = this.#options;
    const path = corePath('secrets', namespace, gitTokenSecretName(name));
    const found = await unlessStatus(404, client.getAs<TokenSecret>(path));
    if (found?.type !== GIT_TOKEN_SECRET_TYPE || !found.data?.token) return;
    await client.replace(path, { ...found, data: { token: '' } }, WRITE_OPTIONS);
  }

  /** Drops the data of a resource, and its token if no other resource shares it. */
  forget(key: ObjectKey): void {
    const before = this.#supplied.get(key);
    if (!before) return;
    this.#supplied.delete(key);
    for (const { tokenKey } of this.#supplied.values()) if (tokenKey === before.tokenKey) return;
    const attempt = this.#attempts.get(before.tokenKey);
    if (attempt?.kind === 'running') this.#options.limiter.remove(attempt.call);
    this.#attempts.delete(before.tokenKey);
    this.#options.apps.forget(before.request);
  }

  /** Checks the Secret, without which no pod of the resource starts. If the check fails, it is repeated the next time. */
  async #isStored({ namespace, name }: ObservedGatewaySync, { stored }: Supplied, id: string): Promise<boolean> {
    const { client, checkMs = CHECK_MS } = this.#options;
    if (stored?.id !== id) return false;
    if (performance.now() - stored.checkedAt < checkMs) return true;
    const path = corePath('secrets', namespace, gitTokenSecretName(name));
    const found = await client.getAs<{ metadata: ObjectMeta }>(path, { accept: METADATA_ONLY }).then(
      ({ metadata }) => metadata,
      (error: unknown) => (isApiError(error, 404) ? undefined : 'unknown'),
    );
    if (found === 'unknown') return true;
    if (found?.uid !== stored.secretUID) return false;
    stored.checkedAt = performance.now();
    return true;
  }

  #use(key: ObjectKey, request: TokenRequest): Supplied {
    const tokenKey = tokenKeyOf(request);
    const before = this.#supplied.get(key);
    if (before?.tokenKey === tokenKey) return before;
    this.forget(key);
    const supplied = { tokenKey, request, stored: undefined };
    this.#supplied.set(key, supplied);
    return supplied;
  }

  /** Queues a request for a token, unless one is running. Returns the time to wait (ms) if the last one was too recent. */
  #requestToken({ tokenKey, request }: Supplied): number | undefined {
    const before = this.#attempts.get(tokenKey);
    if (before?.kind === 'running') return undefined;
    const waitMs = (before?.retryAt ?? 0) - performance.now();
    if (waitMs > 0) return waitMs;
    const { namespace } = request;
    const call = { host: tokenHostOf(request), namespace, run: () => this.#fetch(tokenKey, request) };
    this.#attempts.set(tokenKey, { kind: 'running', failingSince: before?.failingSince, call });
    this.#options.limiter.add(call, false);
    return undefined;
  }

  async #fetch(tokenKey: string, request: TokenRequest): Promise<void> {
    const attempt = this.#attempts.get(tokenKey);
    const startedAt = performance.now();
    const failure = await this.#options.apps.token(request).then(
      () => undefined,
      (error: Error) => error,
    );
    if (attempt?.kind !== 'running' || this.#attempts.get(tokenKey) !== attempt) return; // no resource needs it now
    const failingSince = failure && (attempt.failingSince ?? startedAt);
    const waitMs = failure ? backoff(failure, startedAt - (failingSince ?? startedAt)) : MIN_WAIT_MS;
    this.#attempts.set(tokenKey, { kind: 'done', failingSince, retryAt: performance.now() + waitMs });
    const { apps, log, enqueue } = this.#options;
    for (const [key, supplied] of this.#supplied) {
      if (supplied.tokenKey !== tokenKey) continue;
      if (failure) log.warn({ err: failure, ...splitKey(key) }, 'no token for the agents');
      else if (!apps.known(request))
        log.warn(splitKey(key), 'the token for the agents expires too soon; check the clock');
      enqueue(key);
    }
  }
}

/**
 * Writes a token of a GitHub App into a Secret that is deleted with its resource, and returns the UID of the Secret.
 * A Secret of that name with another type isn't ours: the API server refuses to change the type, and so does the policy.
 */
async function writeGitToken(
  client: KubernetesClient,
  { namespace, name, uid }: ObservedGatewaySync,
  token: string,
): Promise<string> {
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
  const create = client.create<TokenSecret>(corePath('secrets', namespace), secret, WRITE_OPTIONS);
  const path = corePath('secrets', namespace, secretName);
  const stored = (await unlessStatus(409, create)) ?? (await client.replace<TokenSecret>(path, secret, WRITE_OPTIONS));
  return stored.metadata.uid;
}
