import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { networkOf } from '../../shared/domain/text/ip-address.ts';
import { type Listening, listen, type TlsFiles } from '../../shared/io/http/listen.ts';
import { type MetricsPage, serveOperations, takeNoBody } from '../../shared/io/http/serve-operations.ts';
import type { ServerLimits } from '../../shared/io/http/server-limits.ts';
import type { Logger } from '../../shared/log.ts';
import { keepCertificate, readCertificate } from '../certificates/keep-certificate.ts';
import type { KeyPair } from '../certificates/make-certificate.ts';
import type { Access, ScrapeAuthorizer } from './scrape-authorizer.ts';

export interface MetricsOptions {
  host: string;
  port: number;
  /**
   * Returns the certificate to serve: the current one while it is valid, otherwise a new one. Clients needn't trust it,
   * because the token authorizes them. If undefined, any client can read over plain HTTP.
   */
  renew: ((current: KeyPair | undefined) => KeyPair) | undefined;
  page: MetricsPage;
  authorizer: ScrapeAuthorizer;
  /** Directory of the certificate. */
  directory: string;
  log: Logger;
  /** Interval of certificate checks (ms). */
  checkMs?: number;
}

const CHECK_MS = 3_600_000;
/** Prometheus needs one or two. */
const LIMITS: ServerLimits = {
  maxConnections: 50,
  headersTimeout: 5_000,
  requestTimeout: 5_000,
  keepAliveTimeout: 5_000,
};

const refusals: Record<Exclude<Access, 'allowed'>, { status: number; headers?: Record<string, string> }> = {
  unauthenticated: { status: 401 },
  forbidden: { status: 403 },
  busy: { status: 503, headers: { 'Retry-After': '1' } },
};

/** Serves `/metrics`. */
export async function serveMetrics(options: MetricsOptions): Promise<Pick<Listening, 'close'>> {
  const { host, port, page, renew, directory, log, checkMs = CHECK_MS } = options;
  if (!renew) {
    const server = await serveOperations({ host, port, metrics: page });
    return { close: async () => void server.close() };
  }
  const tls = { certFile: join(directory, 'metrics.crt'), keyFile: join(directory, 'metrics.key') };
  let written: KeyPair | undefined;
  const provision = async () => {
    const next = renew(written);
    if (next !== written) await writeKeyPair(tls, next);
    written = next;
    return tls;
  };
  const first = await readCertificate(await provision());
  const listening = await listen({ handler: guarded(options), host, port, tls, limits: LIMITS });
  const closing = new AbortController();
  const { signal } = closing;
  void keepCertificate(listening, first, { provision, checkMs, signal, log: log.child({ endpoint: 'metrics' }) });
  return {
    close: (graceMs) => {
      closing.abort();
      return listening.close(graceMs);
    },
  };
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
      const network = networkOf(request.socket.remoteAddress ?? '');
      const access = await authorizer.authorize(request.headers.authorization, network);
      if (access !== 'allowed') {
        const { status, headers } = refusals[access];
        return void response.writeHead(status, headers).end();
      }
      const body = await page.metrics();
      response.writeHead(200, { 'Content-Type': page.contentType }).end(body);
    } catch (error) {
      log.warn({ err: error }, 'metrics not served');
      response.writeHead(503).end();
    }
  };
}
