import { API_VERSION, GATEWAY_SYNC } from '../../shared/api/group.ts';
import { FIELD_MANAGERS, GIT_TOKEN_SECRET_TYPE, gitTokenSecretName } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { isObserved } from '../../shared/domain/is-observed.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { backoff } from './back-off.ts';
import { type GithubApps, RENEW_BEFORE_MS, type TokenRequest, tokenHostOf, tokenKeyOf } from './github-app.ts';
import type { HostCall, HostLimiter } from './host-limiter.ts';

/** A token is looked after no sooner, nor another one asked for, in milliseconds: one may end as soon as it comes. */
const LEAST_WAIT_MS = 60_000;

export interface GitTokenKeeperOptions {
  client: KubernetesClient;
  apps: GithubApps;
  limiter: HostLimiter;
  /** Called for the resources whose token has come, or cannot be had. */
  onToken: (key: ObjectKey) => void;
  /** How long a look at a Secret counts, in milliseconds: somebody may delete it. */
  lookMs?: number;
  log: Logger;
}

/**
 * A token that GitHub is asked for on behalf of some resources, or when it may be asked for another one. Times are in
 * milliseconds; `failingSince` is undefined where a token came.
 */
type Attempt =
  | { kind: 'asking'; failingSince: number | undefined; waiting: Set<ObjectKey>; call: HostCall }
  | { kind: 'asked'; failingSince: number | undefined; retryAt: number };

/** What a resource has been given, or is to be given. */
interface Supplied {
  tokenKey: string;
  request: TokenRequest;
  handedOver: HandedOver | undefined;
}

/** A token that a Secret holds. */
interface HandedOver {
  /** Identifies the token, and the resource that it is for. */
  state: string;
  secret: SecretVersion;
  /** By the monotonic clock, in milliseconds. */
  lookedAt: number;
}

/** A Secret as it was written, or as it is. */
type SecretVersion = Pick<ObjectMeta, 'uid' | 'resourceVersion'>;

/** What is read of a Secret before its token is removed. */
interface TokenSecret {
  type?: string;
  metadata: ObjectMeta;
  data?: { token?: string };
}

const LOOK_MS = 60_000;

const WRITE_OPTIONS = { accept: METADATA_ONLY, query: { fieldManager: FIELD_MANAGERS.controller } };

/**
 * Keeps the agents of resources with a GitHub App supplied with tokens: the private key stays with the controller.
 * This goes on while a resource is paused, so that its pods can start. Nobody waits here for GitHub, as nobody waits for
 * a git host: a token is there, or the resource is told when to look again.
 */
export class GitTokenKeeper {
  readonly #options: GitTokenKeeperOptions;
  readonly #attempts = new Map<string, Attempt>();
  readonly #supplied = new Map<ObjectKey, Supplied>();
  /** Generation in which the Secret of a resource without a GitHub App was last looked at. */
  readonly #emptiedAt = new Map<ObjectKey, number>();
  /** How many resources share a token. */
  readonly #users = new Map<string, number>();

  constructor(options: GitTokenKeeperOptions) {
    this.#options = options;
  }

  /**
   * Writes the current token where it is new, or its Secret is gone; gives the milliseconds until this is due again, or
   * undefined where there is nothing to do before `onToken`. Throws errors of the API server.
   */
  async supply(key: ObjectKey, gatewaySync: ObservedGatewaySync): Promise<number | undefined> {
    const { namespace, uid, spec } = gatewaySync;
    if (!spec.git.auth?.githubApp) {
      const emptiedAt = this.#emptiedAt.get(key);
      this.forget(key);
      await this.#empty(gatewaySync, emptiedAt);
      this.#emptiedAt.set(key, gatewaySync.generation);
      return undefined;
    }
    const supplied = this.#use(key, { namespace, git: spec.git });
    const known = this.#options.apps.known(supplied.request);
    if (!known) return this.#ask(key, supplied);
    const state = `${uid} ${known.token}`;
    if (!(await this.#isInPlace(gatewaySync, supplied, state))) {
      const secret = await writeGitToken(this.#options.client, gatewaySync, known.token);
      supplied.handedOver = { state, secret, lookedAt: performance.now() };
    }
    return Math.max(LEAST_WAIT_MS, known.expiresAt - RENEW_BEFORE_MS - Date.now());
  }

  /**
   * Takes the token out of the Secret once the resource no longer has a GitHub App. The Secret stays: that takes no
   * permission to delete Secrets, and pods that still mount it can start. Looks only after an edit.
   */
  async #empty({ namespace, name, generation, status }: ObservedGatewaySync, emptiedAt?: number): Promise<void> {
    const isEdited = isObserved(status) && status.observedGeneration !== generation;
    if (!isEdited || emptiedAt === generation) return;
    const { client } = this.#options;
    const path = corePath('secrets', namespace, gitTokenSecretName(name));
    const found = await client.get<TokenSecret>(path).catch((error: unknown) => {
      if (!isApiError(error, 404)) throw error;
    });
    if (found?.type !== GIT_TOKEN_SECRET_TYPE || !found.data?.token) return;
    await client.replace(path, { ...found, data: { token: '' } }, WRITE_OPTIONS);
  }

  /** Drops what is kept for a resource, and the token that no other one shares. */
  forget(key: ObjectKey): void {
    this.#emptiedAt.delete(key);
    const before = this.#supplied.get(key);
    if (!before) return;
    this.#supplied.delete(key);
    const users = (this.#users.get(before.tokenKey) ?? 0) - 1;
    if (users > 0) {
      this.#users.set(before.tokenKey, users);
      return;
    }
    const attempt = this.#attempts.get(before.tokenKey);
    if (attempt?.kind === 'asking') this.#options.limiter.remove(attempt.call);
    this.#attempts.delete(before.tokenKey);
    this.#users.delete(before.tokenKey);
    this.#options.apps.forget(before.request);
  }

  /** Without its Secret no pod of the resource starts. A look that fails tells nothing, and is repeated the next time. */
  async #isInPlace({ namespace, name }: ObservedGatewaySync, supplied: Supplied, state: string): Promise<boolean> {
    const { client, lookMs = LOOK_MS } = this.#options;
    const { handedOver } = supplied;
    if (handedOver?.state !== state) return false;
    if (performance.now() - handedOver.lookedAt < lookMs) return true;
    const path = corePath('secrets', namespace, gitTokenSecretName(name));
    const found = await client.get<{ metadata: ObjectMeta }>(path, { accept: METADATA_ONLY }).then(
      ({ metadata }) => metadata,
      (error: unknown) => (isApiError(error, 404) ? undefined : 'unknown'),
    );
    if (found === 'unknown') return true;
    if (!found || !isSince(handedOver.secret, found)) return false;
    handedOver.lookedAt = performance.now();
    return true;
  }

  #use(key: ObjectKey, request: TokenRequest): Supplied {
    const tokenKey = tokenKeyOf(request);
    const before = this.#supplied.get(key);
    if (before?.tokenKey === tokenKey) return before;
    this.forget(key);
    const supplied = { tokenKey, request, handedOver: undefined };
    this.#supplied.set(key, supplied);
    this.#users.set(tokenKey, (this.#users.get(tokenKey) ?? 0) + 1);
    return supplied;
  }

  /** Has GitHub asked, unless it is being asked or has just answered; gives the milliseconds until it may be asked again. */
  #ask(key: ObjectKey, { tokenKey, request }: Supplied): number | undefined {
    const before = this.#attempts.get(tokenKey);
    if (before?.kind === 'asking') {
      before.waiting.add(key);
      return undefined;
    }
    const waitMs = (before?.retryAt ?? 0) - performance.now();
    if (waitMs > 0) return waitMs;
    const { namespace } = request;
    const call = { host: tokenHostOf(request), namespace, requests: 1, run: () => this.#fetch(tokenKey, request) };
    this.#attempts.set(tokenKey, {
      kind: 'asking',
      failingSince: before?.failingSince,
      waiting: new Set([key]),
      call,
    });
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
    if (attempt?.kind !== 'asking' || this.#attempts.get(tokenKey) !== attempt) return; // nobody needs it any more
    const failingSince = failure && (attempt.failingSince ?? startedAt);
    const waitMs = failure ? backoff(failure, startedAt - (failingSince ?? startedAt)) : LEAST_WAIT_MS;
    this.#attempts.set(tokenKey, { kind: 'asked', failingSince, retryAt: performance.now() + waitMs });
    if (failure) this.#options.log.warn({ err: failure, namespace: request.namespace }, 'no token for the agents');
    else if (!this.#options.apps.known(request))
      this.#options.log.warn(
        { namespace: request.namespace },
        'the token for the agents ends too soon: check the clock',
      );
    for (const key of attempt.waiting) this.#options.onToken(key);
  }
}

/** Whether it is what was written, or a later version of that: an earlier one was restored with the cluster, and its token. */
const isSince = (written: SecretVersion, found: SecretVersion): boolean =>
  found.uid === written.uid && BigInt(found.resourceVersion) >= BigInt(written.resourceVersion);

/**
 * Hands a token of a GitHub App to the agents of a resource, in a Secret that goes with the resource, and gives what
 * identifies that. A Secret of that name with another type is somebody else's: the API server refuses to change the type, and so
 * does the policy.
 */
async function writeGitToken(
  client: KubernetesClient,
  { namespace, name, uid }: ObservedGatewaySync,
  token: string,
): Promise<SecretVersion> {
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
  const { metadata } = await client
    .create<{ metadata: ObjectMeta }>(corePath('secrets', namespace), secret, WRITE_OPTIONS)
    .catch((error: unknown) => {
      if (!isApiError(error, 409)) throw error;
      const path = corePath('secrets', namespace, secretName);
      return client.replace<{ metadata: ObjectMeta }>(path, secret, WRITE_OPTIONS);
    });
  const { uid: secretUid, resourceVersion } = metadata;
  return { uid: secretUid, resourceVersion };
}
