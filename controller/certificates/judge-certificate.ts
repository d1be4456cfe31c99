import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { certificateBlocks } from '../../shared/domain/text/certificate-blocks.ts';
import { AUTHORITY_NAME, type KeyPair } from './make-certificate.ts';

/**
 * Whether a certificate matches its key, is already valid, and remains so for another third of its life. A replica
 * whose clock was ahead leaves certificates that aren't valid yet, which API servers refuse.
 */
export const isCurrent = (pair: KeyPair, now: number): boolean => isGood(pair, now, 2 / 3);

/** Whether a CA was made by the controller, matches its key, is already valid, and hasn't expired. */
export function isOwnAuthority(pair: KeyPair, now: number): boolean {
  return isValid(pair, now) && parse(pair.certificate)?.subject === `CN=${AUTHORITY_NAME}`;
}

/** Whether a certificate matches its key, is already valid, and hasn't expired. */
export const isValid = (pair: KeyPair, now: number): boolean => isGood(pair, now, 1);

/** The same for a part of the certificate's life. */
function isGood(pair: KeyPair, now: number, part: number): boolean {
  const certificate = parse(pair.certificate);
  if (!certificate || !hasKey(certificate, pair.privateKey)) return false;
  const [from, to] = lifeOf(certificate);
  return from <= now && now < from + (to - from) * part;
}

/** Whether a serving certificate is for all these hosts, and from this authority. */
export function isFor(pem: string, hosts: string[], authority: string): boolean {
  const certificate = parse(pem);
  const issuer = parse(authority);
  if (!certificate || !issuer || !certificate.verify(issuer.publicKey)) return false;
  return hosts.every((host) => (isIP(host) ? certificate.checkIP(host) : certificate.checkHost(host)));
}

/** Time since a certificate became valid (ms). */
export function ageOf(pem: string, now: number): number {
  const certificate = parse(pem);
  return certificate ? now - lifeOf(certificate)[0] : Number.POSITIVE_INFINITY;
}

/** Returns the certificates of a bundle that can be read and haven't expired, as PEM. */
export function splitBundle(bundle: string, now: number): string[] {
  return certificateBlocks(bundle).flatMap((pem) => {
    const certificate = parse(pem);
    return certificate && now < lifeOf(certificate)[1] ? [certificate.toString()] : [];
  });
}

function parse(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined; // somebody wrote something else there
  }
}

function hasKey(certificate: X509Certificate, privateKey: string): boolean {
  try {
    return certificate.checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}

function lifeOf({ validFrom, validTo }: X509Certificate): [from: number, to: number] {
  return [Date.parse(validFrom), Date.parse(validTo)];
}
