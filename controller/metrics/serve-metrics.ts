import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Slots } from '../../shared/domain/slots.ts';
import { type Listening, listen, type TlsFiles } from '../../shared/io/http/listen.ts';
import { type MetricsPage, serveOperations, takeNoBody } from '../../shared/io/http/serve-operations.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';

export interface MetricsOptions {
  port: number;
  /**
   * Gives the certificate to serve: the current one while it is good, otherwise a new one. Clients do not have to trust
   * it, since the token says who may read. With it, HTTPS for callers whom the API server lets in; undefined: plain
   * HTTP for everybody.
   */
  renew: ((current: KeyPair | undefined) => KeyPair) | undefined;
  page: MetricsPage;
  authorizer: ScrapeAuthorizer;
  /** Folder for the certificate. */
  folder: string;
  log: Logger;
  /** Interval at which the certificate is checked, in milliseconds. */
  checkMs?: number;
}

/** PEM. */
interface KeyPair {
  certificate: string;
  privateKey: string;
}

const CHECK_MS = 3_600_000;
/** A Prometheus needs one or two; addresses that hold all must not keep it out. */
const LIMITS = { maxConnections: 50, maxConnectionsPerAddress: 10, headTimeoutMs: 5_000 };

const statuses: Record<Exclude<Access, 'allowed'>, number> = { unauthenticated: 401, forbidden: 403 };

/** Serves `/metrics`. */
export async function serveMetrics(options: MetricsOptions): Promise<Pick<Listening, 'close'>> {
  const { port, page, renew, folder, log, checkMs = CHECK_MS } = options;
  if (!renew) {
    const server = await serveOperations({ port, metrics: page });
    return { close: async () => void server.close() };
  }
  const tls = { certFile: join(folder, 'metrics.crt'), keyFile: join(folder, 'metrics.key') };
  let served = renew(undefined);
  await writeKeyPair(tls, served);
  const listening = await listen({ handler: guarded(options), host: '0.0.0.0', port, tls, ...LIMITS });
  const closing = new AbortController();
  const check = async () => {
    const next = renew(served);
    if (next === served) return;
    await writeKeyPair(tls, next);
    await listening.reloadCertificate();
    served = next;
    log.info('certificate of the metrics endpoint renewed');
  };
  void repeat(check, { everyMs: checkMs, signal: closing.signal, log });
  return {
    close: (graceMs) => {
      closing.abort();
      return listening.close(graceMs);
    },
  };
}

/** Waits for each check before the next one: two that overlap would each renew the certificate. */
async function repeat(
  check: () => Promise<void>,
  { everyMs, signal, log }: { everyMs: number; signal: AbortSignal; log: Logger },
): Promise<void> {
  while (!signal.aborted) {
    await sleep(everyMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    await check().catch((error) => log.warn({ err: error }, 'certificate of the metrics endpoint not renewed'));
  }
}

async function writeKeyPair({ certFile, keyFile }: TlsFiles, { certificate, privateKey }: KeyPair): Promise<void> {
  await writeFile(keyFile, privateKey, { mode: 0o600 });
  await writeFile(certFile, certificate);
}

function guarded({ page, authorizer, log }: MetricsOptions): RequestListener {
  return async (request, response) => {
    takeNoBody(request, response);
    try {
      if (request.url?.split('?')[0] !== '/metrics') return void response.writeHead(404).end();
      const access = await authorizer.authorize(request.headers.authorization);
      if (access !== 'allowed') return void response.writeHead(statuses[access]).end();
      const body = await page.metrics();
      response.writeHead(200, { 'Content-Type': page.contentType }).end(body);
    } catch (error) {
      log.warn({ err: error }, 'metrics not served');
      response.writeHead(503).end();
    }
  };
}

export type Access = 'allowed' | 'unauthenticated' | 'forbidden';

interface TokenReview {
  status?: { authenticated?: boolean; user?: { username?: string; uid?: string; groups?: string[] } };
}

interface SubjectAccessReview {
  status?: { allowed?: boolean };
}

const REMEMBER_MS = 60_000;
const REMEMBERED = 64;
/** Reviews under way at a time: anybody can ask for them, and the lease is renewed over the same connections. */
const AT_ONCE = 4;

/**
 * Decides as kube-rbac-proxy does who may read `/metrics`: whom the API server knows by the bearer token
 * (TokenReview), and whom it lets `get` that path (SubjectAccessReview). Who may is remembered for a minute, and nobody
 * else, so that made-up tokens take no place.
 */
export class ScrapeAuthorizer {
  readonly #client: KubernetesClient;
  /** By the hash of a token, until when its bearer may read, by the monotonic clock. */
  readonly #allowed = new Map<string, number>();
  readonly #slots = new Slots(AT_ONCE);

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  async authorize(authorization: string | undefined): Promise<Access> {
    const token = /^Bearer ([^\s]+)$/.exec(authorization ?? '')?.[1];
    if (!token) return 'unauthenticated';
    const key = createHash('sha256').update(token).digest('base64');
    if (performance.now() < (this.#allowed.get(key) ?? 0)) return 'allowed';
    const access = await this.#slots.run(() => this.#ask(token));
    if (access !== 'allowed') return access;
    if (this.#allowed.size >= REMEMBERED) this.#allowed.clear();
    this.#allowed.set(key, performance.now() + REMEMBER_MS);
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
