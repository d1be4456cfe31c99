import { writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { type Listening, listen } from '../../shared/io/http/listen.ts';
import { type MetricsPage, serveOperations } from '../../shared/io/http/serve-operations.ts';
import type { Logger } from '../../shared/log.ts';
import { makeAuthority } from '../certificates/make-certificate.ts';
import type { Access, ScrapeAuthorizer } from './authorize-scrape.ts';

export interface MetricsOptions {
  port: number;
  /** HTTPS, and only for callers whom the API server lets in; else plain HTTP for everybody. */
  secure: boolean;
  page: MetricsPage;
  authorizer: ScrapeAuthorizer;
  /** Folder for the certificate, which nobody has to trust: Prometheus is told by the token whom it talks to. */
  folder: string;
  log: Logger;
}

const statuses: Record<Exclude<Access, 'allowed'>, number> = { unauthenticated: 401, forbidden: 403 };

/** Serves `/metrics`. */
export async function serveMetrics(options: MetricsOptions): Promise<Pick<Listening, 'close'>> {
  if (!options.secure) {
    const server = await serveOperations({ port: options.port, metrics: options.page });
    return { close: async () => void server.close() };
  }
  const { certificate, privateKey } = makeAuthority(Date.now());
  const tls = { certFile: join(options.folder, 'metrics.crt'), keyFile: join(options.folder, 'metrics.key') };
  await writeFile(tls.certFile, certificate);
  await writeFile(tls.keyFile, privateKey, { mode: 0o600 });
  return listen({ handler: guarded(options), host: '0.0.0.0', port: options.port, tls, maxConnections: 50 });
}

function guarded({ page, authorizer, log }: MetricsOptions): RequestListener {
  return async (request, response) => {
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
