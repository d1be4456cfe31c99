import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { TlsFiles } from '../../shared/io/http/listen.ts';

/** A certificate that is in files. */
export interface ServingCertificate {
  /** Tells it from every other one. */
  fingerprint: string;
  /** When it ends, in milliseconds since 1970. */
  expiresAt: number;
}

/** Reads a certificate; throws where the files hold no certificate with its key, as in the middle of a change. */
export async function readCertificate({ certFile, keyFile }: TlsFiles): Promise<ServingCertificate> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  createSecureContext({ cert, key });
  const { fingerprint256, validTo } = new X509Certificate(cert);
  return { fingerprint: fingerprint256, expiresAt: Date.parse(validTo) };
}
