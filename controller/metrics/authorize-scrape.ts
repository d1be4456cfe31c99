import { createHash } from 'node:crypto';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';

export type Access = 'allowed' | 'unauthenticated' | 'forbidden';

interface TokenReview {
  status?: { authenticated?: boolean; user?: { username?: string; uid?: string; groups?: string[] } };
}

interface SubjectAccessReview {
  status?: { allowed?: boolean };
}

const REMEMBER_MS = 60_000;
const REMEMBERED = 64;

/**
 * Decides as kube-rbac-proxy does who may read `/metrics`: whom the API server knows by the bearer token
 * (TokenReview), and whom it lets `get` that path (SubjectAccessReview). Answers are good for a minute.
 */
export class ScrapeAuthorizer {
  readonly #client: KubernetesClient;
  readonly #known = new Map<string, { access: Access; until: number }>();

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  async authorize(authorization: string | undefined): Promise<Access> {
    const token = /^Bearer ([^\s]+)$/.exec(authorization ?? '')?.[1];
    if (!token) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    const known = this.#known.get(key);
    if (known && performance.now() < known.until) return known.access;
    const access = await this.#ask(token);
    if (this.#known.size >= REMEMBERED) this.#known.clear();
    this.#known.set(key, { access, until: performance.now() + REMEMBER_MS });
    return access;
  }

  async #ask(token: string): Promise<Access> {
    const { status } = await this.#client.create<TokenReview>(groupPath('authentication.k8s.io/v1', 'tokenreviews'), {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenReview',
      spec: { token },
    });
    if (!status?.authenticated) return 'unauthenticated';
    const { username, uid, groups } = status.user ?? {};
    const review = await this.#client.create<SubjectAccessReview>(
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
