import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { type Listening, listen, type TlsFiles } from '../../shared/io/http/listen.ts';
import type { Logger } from '../../shared/log.ts';
import { ensureSelfSigned, type SelfSignedOptions } from './self-signed.ts';

export interface AdmissionOptions {
  handler: RequestListener;
  port: number;
  /** Folder with `tls.crt` and `tls.key`, kept current by somebody else. */
  certDir: string | undefined;
  /** Used where there is no such folder. */
  selfSigned: Omit<SelfSignedOptions, 'webhook'> & { webhook: string | undefined };
  signal: AbortSignal;
  log: Logger;
  /** Time between two looks at the certificate, in milliseconds. */
  checkMs?: number;
  /** Time for which it goes on answering once it is told to close, in milliseconds. */
  lingerMs?: number;
  /** Told of every certificate that is taken up: for metrics. */
  onCertificate?: (certificate: ServingCertificate) => void;
}

const CHECK_MS = 10_000;
/** The nodes send reviews here until they have heard that this pod ends; those that fail are pods without a sidecar. */
const LINGER_MS = 3_000;
const RETRY_MS = 2_000;
/** API servers need a handful; each one costs memory before anybody is known. */
const MAX_CONNECTIONS = 500;

/** Serves admission reviews over TLS, and takes up new certificates without a restart. */
export async function serveAdmission(options: AdmissionOptions): Promise<Listening> {
  const { tls, certificate } = await firstCertificate(options);
  const { handler, port } = options;
  const listening = await listen({ handler, port, tls, host: '0.0.0.0', maxConnections: MAX_CONNECTIONS });
  options.onCertificate?.(certificate);
  void keepCertificate(options, certificate, listening);
  return {
    ...listening,
    close: async (graceMs) => {
      await sleep(options.lingerMs ?? LINGER_MS);
      await listening.close(graceMs);
    },
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
      if (certificate.fingerprint === fingerprint) continue;
      await listening.reloadCertificate();
      ({ fingerprint } = certificate);
      options.onCertificate?.(certificate);
      log.info({ expiresAt: new Date(certificate.expiresAt) }, 'certificate of the admission endpoint reloaded');
    } catch (error) {
      log.warn({ err: error }, 'certificate of the admission endpoint not checked');
    }
  }
}

/** Gives the files of the certificate, which somebody else fills, or this program. */
async function provision({ certDir, selfSigned }: AdmissionOptions): Promise<TlsFiles> {
  // The names are links that Kubernetes points at another folder, both at once.
  if (certDir) return { certFile: join(certDir, 'tls.crt'), keyFile: join(certDir, 'tls.key') };
  const { webhook, ...options } = selfSigned;
  if (webhook === undefined) throw new Error('neither a certificate folder nor a webhook configuration is named');
  return await ensureSelfSigned({ ...options, webhook });
}

/** A certificate that is in files. */
interface ServingCertificate {
  /** Tells it from every other one. */
  fingerprint: string;
  /** When it ends, in milliseconds since 1970. */
  expiresAt: number;
}

/** Reads a certificate; throws where the files hold no certificate with its key, as in the middle of a change. */
async function readCertificate({ certFile, keyFile }: TlsFiles): Promise<ServingCertificate> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert, key });
  const { fingerprint256, validTo } = new X509Certificate(cert);
  return { fingerprint: fingerprint256, expiresAt: Date.parse(validTo) };
}
