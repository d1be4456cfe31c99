import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import type { Listening, TlsFiles } from '../../shared/io/http/listen.ts';
import type { Logger } from '../../shared/log.ts';

/** A certificate read from its files. */
export interface ServingCertificate {
  /** Differs for every certificate. */
  fingerprint: string;
  /** When it expires (ms since the epoch). */
  expiresAt: number;
}

export interface KeepOptions {
  /** Returns the files, and writes a new certificate to them if it is due, unless they are managed externally. */
  provision: () => Promise<TlsFiles>;
  /** Interval of checks (ms). */
  checkMs: number;
  signal: AbortSignal;
  /** Names the endpoint. */
  log: Logger;
  /** Called with every certificate that is loaded after the first one. */
  onCertificate?: ((certificate: ServingCertificate) => void) | undefined;
}

/** Loads the certificates of a server that follow the first one, without a restart, until the signal aborts. */
export async function keepCertificate(
  listening: Listening,
  first: ServingCertificate,
  { provision, checkMs, signal, log, onCertificate }: KeepOptions,
): Promise<void> {
  let { fingerprint } = first;
  while (!signal.aborted) {
    await sleep(checkMs, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      const certificate = await readCertificate(await provision());
      // The CAs of clients can change separately.
      await listening.reloadCertificate();
      if (certificate.fingerprint === fingerprint) continue;
      ({ fingerprint } = certificate);
      onCertificate?.(certificate);
      log.info({ expiresAt: new Date(certificate.expiresAt) }, 'certificate reloaded');
    } catch (error) {
      log.warn({ err: error }, 'certificate not checked');
    }
  }
}

/** Reads a certificate. Throws if the files don't contain a certificate and its key, for example during a change. */
export async function readCertificate({ certFile, keyFile }: TlsFiles): Promise<ServingCertificate> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert, key });
  const { fingerprint256, validTo } = new X509Certificate(cert);
  return { fingerprint: fingerprint256, expiresAt: Date.parse(validTo) };
}
