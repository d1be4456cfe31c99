import { X509Certificate } from 'node:crypto';
import { certificateBlocks } from '../../domain/text/certificate-blocks.ts';
import { TerminalError } from '../../errors.ts';
import { certificate, WRONG_NAME } from './git-error.ts';

/** A bundle of CAs (PEM). */
export interface CaBundle {
  pem: string;
  /** Its source, for a message. */
  source: string;
  /** Whether no other CA is trusted. */
  isOnly: boolean;
}

/** Explains a certificate error by an expired CA in the bundle, if it has one. Returns other errors unchanged. */
export function explainExpiredCas<T>(error: T, { pem, source, isOnly }: CaBundle): T | TerminalError {
  if (!(error instanceof TerminalError) || error.code !== certificate.details.code || error.message === WRONG_NAME)
    return error;
  const ends = certificateBlocks(pem).flatMap(endOf);
  const expired = ends.filter((end) => end < Date.now());
  const last = expired.length > 0 && new Date(Math.max(...expired)).toISOString().slice(0, 10);
  if (!last) return error;
  const message =
    isOnly && expired.length === ends.length
      ? `the CA in ${source} expired on ${last}; replace it with the CA that signed the git server's current certificate`
      : `${error.message}; a CA in ${source} expired on ${last}; replace it if the git server uses it`;
  return new TerminalError(message, { ...certificate.details, cause: error.cause });
}

/** Returns when a certificate expires (ms since the epoch), or nothing if it can't be read. */
function endOf(block: string): number[] {
  try {
    return [Date.parse(new X509Certificate(block).validTo)];
  } catch {
    return [];
  }
}
