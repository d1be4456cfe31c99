import { createPublicKey, generateKeyPairSync, hash, randomBytes, sign, X509Certificate } from 'node:crypto';
import { parseAddress } from '../../shared/domain/text/ip-address.ts';
import * as der from './der.ts';

/** A certificate and its private key, PEM. */
export interface KeyPair {
  certificate: string;
  privateKey: string;
}

const DAY_MS = 86_400_000;
/** Long enough that a serving certificate never outlives the CA, which is replaced after two thirds of its life. */
const CA_DAYS = 365;
const SERVING_DAYS = 90;
/** Backdates certificates, so that clients with a slow clock accept them (ms). */
const BACKDATE_MS = 300_000;

const COMMON_NAME = der.oid('2.5.4.3');
const SERVER_AUTH = der.oid('1.3.6.1.5.5.7.3.1');
/** https://www.rfc-editor.org/rfc/rfc5280#section-4.2.1 */
const EXTENSIONS = {
  subjectKeyIdentifier: der.oid('2.5.29.14'),
  keyUsage: der.oid('2.5.29.15'),
  subjectAltName: der.oid('2.5.29.17'),
  basicConstraints: der.oid('2.5.29.19'),
  authorityKeyIdentifier: der.oid('2.5.29.35'),
  extKeyUsage: der.oid('2.5.29.37'),
};
const KEY_USAGE = {
  digitalSignature: der.bitString(Buffer.of(0b1000_0000), 7),
  signsCertificatesAndLists: der.bitString(Buffer.of(0b0000_0110), 1),
};
/** ECDSA with SHA-256. */
const ALGORITHM = der.sequence(der.oid('1.2.840.10045.4.3.2'));
/** Common name of each CA that the controller makes. */
export const AUTHORITY_NAME = 'stoker-operator admission CA';

/** Makes a certificate authority for the admission endpoint. */
export function makeAuthority(now: number): KeyPair {
  const { privateKey, publicKey } = makeKey();
  const subject = distinguishedName(AUTHORITY_NAME);
  const extensions = [
    extension('basicConstraints', der.sequence(der.yes), 'critical'),
    extension('keyUsage', KEY_USAGE.signsCertificatesAndLists, 'critical'),
    extension('subjectKeyIdentifier', der.octetString(identifierOf(publicKey))),
  ];
  const content = { subject, publicKey, extensions, from: now, days: CA_DAYS };
  return { certificate: certify(content, { name: subject, privateKey }), privateKey };
}

/** Makes a serving certificate for these host names and addresses. The CA is one that {@link makeAuthority} made. */
export function makeServingCertificate({ privateKey }: KeyPair, hosts: string[], now: number): KeyPair {
  const signer = { name: distinguishedName(AUTHORITY_NAME), privateKey };
  // While one CA replaces another, two with the same name are trusted; this identifies the signer.
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const authorityKey = der.sequence(der.implicit(0, identifierOf(publicKey)));
  return makeServing({ hosts, now, signer, authorityKey });
}

/** Makes a serving certificate for these host names and addresses that signs itself. */
export function makeSelfSigned(hosts: string[], now: number): KeyPair {
  return makeServing({ hosts, now });
}

interface Serving {
  hosts: string[];
  now: number;
  /** If omitted, the certificate is self-signed. */
  signer?: Signer;
  authorityKey?: Buffer;
}

function makeServing({ hosts, now, signer, authorityKey }: Serving): KeyPair {
  const { privateKey, publicKey } = makeKey();
  const subject = distinguishedName(hosts[0]?.slice(0, 64) ?? 'webhook');
  const names = hosts.map((host) => {
    const address = parseAddress(host);
    return address ? der.implicit(7, Buffer.from(address.toByteArray())) : der.implicit(2, Buffer.from(host));
  });
  const extensions = [
    extension('basicConstraints', der.sequence(), 'critical'),
    extension('keyUsage', KEY_USAGE.digitalSignature, 'critical'),
    extension('extKeyUsage', der.sequence(SERVER_AUTH)),
    extension('subjectAltName', der.sequence(...names)),
    ...(authorityKey ? [extension('authorityKeyIdentifier', authorityKey)] : []),
  ];
  const content = { subject, publicKey, extensions, from: now, days: SERVING_DAYS };
  return { certificate: certify(content, signer ?? { name: subject, privateKey }), privateKey };
}

/** Uses the curve P-256, which takes half a millisecond. An RSA key would block the process for up to 300. */
function makeKey(): { privateKey: string; publicKey: Buffer } {
  return generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

interface Signer {
  /** DER. */
  name: Buffer;
  privateKey: string;
}

interface Content {
  subject: Buffer;
  publicKey: Buffer;
  extensions: Buffer[];
  from: number;
  days: number;
}

/** https://www.rfc-editor.org/rfc/rfc5280#section-4.1 */
function certify({ subject, publicKey, extensions, from, days }: Content, { name, privateKey }: Signer): string {
  const version3 = der.explicit(0, der.integer(Buffer.of(2)));
  const serialNumber = der.integer(Buffer.of(1, ...randomBytes(16)));
  const validity = der.sequence(der.time(from - BACKDATE_MS), der.time(from + days * DAY_MS));
  const toBeSigned = der.sequence(
    version3,
    serialNumber,
    ALGORITHM,
    name,
    validity,
    subject,
    publicKey,
    der.explicit(3, der.sequence(...extensions)),
  );
  const signature = der.bitString(sign('sha256', toBeSigned, privateKey));
  return new X509Certificate(der.sequence(toBeSigned, ALGORITHM, signature)).toString();
}

function distinguishedName(commonName: string): Buffer {
  return der.sequence(der.set(der.sequence(COMMON_NAME, der.utf8String(commonName))));
}

function extension(name: keyof typeof EXTENSIONS, value: Buffer, critical?: 'critical'): Buffer {
  return der.sequence(EXTENSIONS[name], ...(critical ? [der.yes] : []), der.octetString(value));
}

/** https://www.rfc-editor.org/rfc/rfc7093#section-2, method 4. */
const identifierOf = (publicKey: Buffer): Buffer => hash('sha256', publicKey, 'buffer').subarray(0, 20);
