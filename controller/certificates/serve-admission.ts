import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { RateLimit } from '../../shared/domain/rate-limit.ts';
import { type Listening, listen, type TlsFiles } from '../../shared/io/http/listen.ts';
import type { Logger } from '../../shared/log.ts';
import { ensureSelfSigned, type SelfSignedOptions } from './self-signed.ts';

export interface AdmissionOptions {
  handler: RequestListener;
  host: string;
  port: number;
  /** Folder with `tls.crt` and `tls.key` that something else keeps current, such as cert-manager. */
  certDir: string | undefined;
  /** Used if there is no such folder. */
  selfSigned: Omit<SelfSignedOptions, 'webhook'> & { webhook: string | undefined };
  /** CAs (PEM) of which one has to have signed the certificate of each client; without it, anybody is answered. */
  clientCaFile?: string | undefined;
  signal: AbortSignal;
  log: Logger;
  /** Interval at which the certificate is checked, in milliseconds. */
  checkMs?: number;
  /** How long to keep answering after `close` is called, in milliseconds. */
  lingerMs?: number;
  /** Called with every certificate that is loaded, for metrics. */
  onCertificate?: (certificate: ServingCertificate) => void;
}

const CHECK_MS = 10_000;
/** Reviews keep coming until every node knows that this pod ends. Each one that fails is a pod that is refused, or has no sidecar. */
const LINGER_MS = 3_000;
const RETRY_MS = 2_000;
/** What a client sends that does not trust the certificate; https://www.rfc-editor.org/rfc/rfc8446#section-6.2. */
const DISTRUST = /ALERT_(BAD_CERTIFICATE|UNKNOWN_CA|CERTIFICATE_(EXPIRED|UNKNOWN))$/;
/** API servers need a handful each, in a burst some dozens; a connection costs memory before the client is known. */
const LIMITS = { maxConnections: 500, maxConnectionsPerAddress: 100 };

/** Serves admission reviews over TLS, and loads new certificates without a restart. */
export async function serveAdmission(options: AdmissionOptions): Promise<Listening> {
  const { tls, certificate } = await firstCertificate(options);
  const { handler, host, port } = options;
  const listening = await listen({ handler, host, port, tls, ...LIMITS });
  options.onCertificate?.(certificate);
  tellOfDistrust(listening, options.log);
  void keepCertificate(options, certificate, listening);
  return {
    ...listening,
    close: (graceMs) => listening.close(graceMs, options.lingerMs ?? LINGER_MS),
  };
}

/** Waits for the certificate: cert-manager, or the webhook configuration, may come after this pod. */
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

async function keepCertificate(
  options: AdmissionOptions,
  first: ServingCertificate,
  listening: Listening,
): Promise<void> {
  const { signal, log, checkMs = CHECK_MS } = options;
  let { fingerprint } = first;
  while (!signal.aborted) {
    await sleep(checkMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      const certificate = await readCertificate(await provision(options));
      // The CAs of clients may change on their own.
      await listening.reloadCertificate();
      if (certificate.fingerprint === fingerprint) continue;
      ({ fingerprint } = certificate);
      options.onCertificate?.(certificate);
      log.info({ expiresAt: new Date(certificate.expiresAt) }, 'certificate of the admission endpoint reloaded');
    } catch (error) {
      log.warn({ err: error }, 'certificate of the admission endpoint not checked');
    }
  }
}

/** With `Ignore` pods start without a sidecar then, and the API server's own log may be out of reach. */
function tellOfDistrust({ server }: Listening, log: Logger): void {
  const warnings = new RateLimit({ perMinute: 1, burst: 1, maxKeys: 1 });
  server.on('tlsClientError', ({ code = '' }: NodeJS.ErrnoException) => {
    if (DISTRUST.test(code) && warnings.take('', performance.now()))
      log.warn({ code }, 'a client does not trust the certificate of the admission endpoint');
  });
}

/** Gives the files of the certificate, and fills them unless something else does. */
async function provision({ certDir, selfSigned, clientCaFile }: AdmissionOptions): Promise<TlsFiles> {
  // Both names are links: the kubelet replaces the two files in one step.
  if (certDir) return { certFile: join(certDir, 'tls.crt'), keyFile: join(certDir, 'tls.key'), clientCaFile };
  const { webhook, ...options } = selfSigned;
  if (webhook === undefined)
    throw new Error('neither a certificate directory nor a webhook configuration is specified');
  return { ...(await ensureSelfSigned({ ...options, webhook })), clientCaFile };
}

/** A certificate that was read from its files. */
interface ServingCertificate {
  /** Differs for every certificate. */
  fingerprint: string;
  /** When it ends, in milliseconds since 1970. */
  expiresAt: number;
}

/** Reads a certificate. Throws if the files do not hold a certificate and its key, as in the middle of a change. */
async function readCertificate({ certFile, keyFile }: TlsFiles): Promise<ServingCertificate> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert, key });
  const { fingerprint256, validTo } = new X509Certificate(cert);
  return { fingerprint: fingerprint256, expiresAt: Date.parse(validTo) };
}
