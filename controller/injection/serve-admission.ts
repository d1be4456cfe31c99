import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { type Listening, listen, type TlsFiles } from '../../shared/io/http/listen.ts';
import type { ServerLimits } from '../../shared/io/http/server-limits.ts';
import type { Logger } from '../../shared/log.ts';
import { keepCertificate, readCertificate, type ServingCertificate } from '../certificates/keep-certificate.ts';
import { ensureSelfSigned, type SelfSignedOptions } from '../certificates/self-signed.ts';

export interface AdmissionOptions {
  handler: RequestListener;
  host: string;
  port: number;
  /** Directory with `tls.crt` and `tls.key` that are kept current externally, for example by cert-manager. */
  certDir: string | undefined;
  /** Used if there is no such directory. */
  selfSigned: Omit<SelfSignedOptions, 'webhook'> & { webhook: string | undefined };
  /** CAs (PEM), one of which must have signed each client certificate; if omitted, all clients are served. */
  clientCaFile?: string | undefined;
  signal: AbortSignal;
  log: Logger;
  /** Interval of certificate checks (ms). */
  checkMs?: number;
  /** Time for which requests are served after `close` is called (ms). */
  lingerMs?: number;
  /** Called with every certificate that is loaded, for metrics. */
  onCertificate?: (certificate: ServingCertificate) => void;
}

const CHECK_MS = 10_000;
/** Reviews arrive until all nodes know that this pod ends. Each failed one is a refused or uninjected pod. */
const LINGER_MS = 3_000;
const RETRY_MS = 2_000;
/** Alerts of clients that don't trust the certificate; https://www.rfc-editor.org/rfc/rfc8446#section-6.2. */
const DISTRUST = /ALERT_(BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_(EXPIRED|UNKNOWN))$/;
/** An API server needs a few, and dozens in a burst. A connection costs memory before the client is known. */
const LIMITS: ServerLimits = {
  maxConnections: 500,
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // The API server reuses an idle connection for 90 s. A review sent while it closes is lost.
  keepAliveTimeout: 120_000,
};

/** Serves admission reviews over TLS, and loads new certificates without a restart. */
export async function serveAdmission(options: AdmissionOptions): Promise<Listening> {
  const { tls, certificate } = await firstCertificate(options);
  const { handler, host, port } = options;
  const listening = await listen({ handler, host, port, tls, limits: LIMITS });
  options.onCertificate?.(certificate);
  logDistrust(listening, options.log);
  void keepCertificate(listening, certificate, {
    ...options,
    provision: () => provision(options),
    checkMs: options.checkMs ?? CHECK_MS,
    log: options.log.child({ endpoint: 'admission' }),
  });
  return {
    ...listening,
    close: (graceMs) => listening.close(graceMs, options.lingerMs ?? LINGER_MS),
  };
}

/** Waits for the certificate, because cert-manager or the webhook configuration may be slower than this pod. */
async function firstCertificate(
  options: AdmissionOptions,
): Promise<{ tls: TlsFiles; certificate: ServingCertificate }> {
  for (;;) {
    try {
      const tls = await provision(options);
      return { tls, certificate: await readCertificate(tls) };
    } catch (error) {
      options.log.warn({ err: error }, 'no certificate for the admission endpoint yet');
      await sleep(RETRY_MS, undefined, { signal: options.signal });
    }
  }
}

/** Logs distrust, because with `Ignore` pods start without a sidecar, and the API server's log may be inaccessible. */
function logDistrust({ server }: Listening, log: Logger): void {
  const warnings = new RateLimit({ perMinute: 1, burst: 1, maxKeys: 1 });
  server.on('tlsClientError', ({ code = '' }: NodeJS.ErrnoException) => {
    if (DISTRUST.test(code) && warnings.take('', performance.now()))
      log.warn({ code }, 'a client does not trust the certificate of the admission endpoint');
  });
}

/** Returns the certificate files, and writes them unless they are managed externally. */
async function provision({ certDir, selfSigned, clientCaFile }: AdmissionOptions): Promise<TlsFiles> {
  // Both names are links; the kubelet replaces both files in one step.
  if (certDir) return { certFile: join(certDir, 'tls.crt'), keyFile: join(certDir, 'tls.key'), clientCaFile };
  const { webhook, ...options } = selfSigned;
  if (webhook === undefined)
    throw new Error('neither a certificate directory nor a webhook configuration is specified');
  return { ...(await ensureSelfSigned({ ...options, webhook })), clientCaFile };
}
