import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { certificateBlocks } from '../../shared/domain/certificate-blocks.ts';
import { AUTHORITY_NAME, type KeyPair } from './make-certificate.ts';

/**
 * Whether a certificate belongs to its key, is valid already, and is good for another third of its life. A replica whose
 * clock was ahead leaves certificates of the future, and no API server takes those.
 */
export const isCurrent = (pair: KeyPair, now: number): boolean => isGood(pair, now, 2 / 3);

/** Whether a CA is one that the controller made, belongs to its key, is valid already, and has not expired. */
export function isOwnAuthority(pair: KeyPair, now: number): boolean {
  return isValid(pair, now) && parse(pair.certificate)?.subject === `CN=${AUTHORITY_NAME}`;
}

/** Whether a certificate belongs to its key, is valid already, and has not expired. */
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

/** How long ago a certificate began to be valid, in milliseconds. */
export function ageOf(pem: string, now: number): number {
  const certificate = parse(pem);
  return certificate ? now - lifeOf(certificate)[0] : Number.POSITIVE_INFINITY;
}

/** The certificates of a bundle that can be read and have not expired, each in PEM. */
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
