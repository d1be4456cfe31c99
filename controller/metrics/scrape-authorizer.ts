import { createHash } from 'node:crypto';
import type { V1SubjectAccessReview, V1TokenReview } from '@kubernetes/client-node';
import type { DeepPartial } from '../../shared/api/object-meta.ts';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import { Slots } from '../../shared/domain/limits/slots.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';

/** Whether a client can read; `busy` if too many others wait, and the client should retry in a second. */
export type Access = 'allowed' | 'unauthenticated' | 'forbidden' | 'busy';

const REMEMBER_MS = 60_000;
const REMEMBERED = 64;
/** Maximum concurrent reviews: unauthenticated clients can cause them, and lease renewals use the same connections. */
const MAX_CONCURRENT = { unknown: 3, remembered: 1 };
/** Maximum number of waiting reviews, in total and per client network. */
const MAX_WAITING = { total: 256, perNetwork: 8 };

/** A token that is allowed to read, or was recently. */
interface Remembered {
  /** Time of a monotonic clock (ms) after which the API server is queried again. */
  until: number;
  renewal: Promise<Access> | undefined;
}

/**
 * Authorizes readers of `/metrics` as kube-rbac-proxy does: the API server authenticates the bearer token
 * (TokenReview), and must allow `get` for the path (SubjectAccessReview). Only allowed tokens are remembered, for a
 * minute, so that fabricated ones occupy no memory. After that, they don't wait behind unknown ones.
 */
export class ScrapeAuthorizer {
  readonly #client: KubernetesClient;
  readonly #rememberMs: number;
  /** By the hash of a token. */
  readonly #remembered = new LruMap<string, Remembered>(REMEMBERED);
  readonly #unknown = new Slots(MAX_CONCURRENT.unknown);
  readonly #renewals = new Slots(MAX_CONCURRENT.remembered);

  constructor(client: KubernetesClient, { rememberMs = REMEMBER_MS } = {}) {
    this.#client = client;
    this.#rememberMs = rememberMs;
  }

  /** Client networks take turns. Throws errors of the API server. */
  async authorize(authorization: string | undefined, network: string): Promise<Access> {
    const token = /^Bearer ([^\s]+)$/.exec(authorization ?? '')?.[1];
    if (!token) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    const remembered = this.#remembered.get(key);
    if (!remembered) {
      const { waiting } = this.#unknown;
      if (waiting >= MAX_WAITING.total || this.#unknown.waitingOf(network) >= MAX_WAITING.perNetwork) return 'busy';
      return await this.#unknown.run(() => this.#review(key, token), network);
    }
    if (performance.now() < remembered.until) return 'allowed';
    remembered.renewal ??= this.#renewals
      .run(() => this.#review(key, token))
      .finally(() => {
        remembered.renewal = undefined;
      });
    return remembered.renewal;
  }

  async #review(key: string, token: string): Promise<Access> {
    const access = await this.#ask(token);
    if (access === 'allowed')
      this.#remembered.set(key, { until: performance.now() + this.#rememberMs, renewal: undefined });
    else this.#remembered.delete(key);
    return access;
  }

  async #ask(token: string): Promise<Access> {
    const { status } = await this.#client.create<DeepPartial<V1TokenReview>>(
      groupPath('authentication.k8s.io/v1', 'tokenreviews'),
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        spec: { token },
      },
    );
    if (!status?.authenticated) return 'unauthenticated';
    const { username, uid, groups } = status.user ?? {};
    const review = await this.#client.create<DeepPartial<V1SubjectAccessReview>>(
      groupPath('authorization.k8s.io/v1', 'subjectaccessreviews'),
      {
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SubjectAccessReview',
        spec: { user: username, uid, groups, nonResourceAttributes: { path: '/metrics', verb: 'get' } },
      },
    );
    return review.status?.allowed ? 'allowed' : 'forbidden';
  }
}
