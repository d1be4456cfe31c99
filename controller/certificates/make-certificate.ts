import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import forge from 'node-forge';

/** A certificate and its private key, PEM. */
export interface KeyPair {
  certificate: string;
  privateKey: string;
}

const DAY_MS = 86_400_000;
/** Long enough that a serving certificate never outlives the CA, which is replaced after two thirds of its life. */
const CA_DAYS = 365;
const SERVING_DAYS = 90;
/** A clock that is behind must not refuse a new certificate. */
const BACKDATE_MS = 300_000;

/** Makes a certificate authority for the admission endpoint. */
export function makeAuthority(now: number): KeyPair {
  const { privateKey, publicKey } = makeKey();
  const certificate = unsigned(publicKey, { commonName: 'stoker-operator admission CA', days: CA_DAYS, now });
  certificate.setIssuer(certificate.subject.attributes);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    { name: 'subjectKeyIdentifier' },
  ]);
  return signed(certificate, privateKey, privateKey);
}

/** Makes a serving certificate for these host names and addresses. */
export function makeServingCertificate(authority: KeyPair, hosts: string[], now: number): KeyPair {
  const { privateKey, publicKey } = makeKey();
  const certificate = unsigned(publicKey, { commonName: hosts[0]?.slice(0, 64) ?? 'webhook', days: SERVING_DAYS, now });
  const issuer = forge.pki.certificateFromPem(authority.certificate);
  certificate.setIssuer(issuer.subject.attributes);
  certificate.setExtensions([
    { name: 'basicConstraints', cA: false, critical: true },
    { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
    { name: 'extKeyUsage', serverAuth: true },
    {
      name: 'subjectAltName',
      altNames: hosts.map((host) => (isIP(host) ? { type: 7, ip: host } : { type: 2, value: host })),
    },
  ]);
  return signed(certificate, privateKey, authority.privateKey);
}

function makeKey(): { privateKey: string; publicKey: string } {
  return generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
}

function unsigned(
  publicKey: string,
  { commonName, days, now }: { commonName: string; days: number; now: number },
): forge.pki.Certificate {
  const certificate = forge.pki.createCertificate();
  certificate.publicKey = forge.pki.publicKeyFromPem(publicKey);
  certificate.serialNumber = `01${randomBytes(16).toString('hex')}`;
  certificate.validity.notBefore = new Date(now - BACKDATE_MS);
  certificate.validity.notAfter = new Date(now + days * DAY_MS);
  certificate.setSubject([{ name: 'commonName', value: commonName }]);
  return certificate;
}

function signed(certificate: forge.pki.Certificate, privateKey: string, signingKey: string): KeyPair {
  certificate.sign(forge.pki.privateKeyFromPem(signingKey), forge.md.sha256.create());
  return { certificate: forge.pki.certificateToPem(certificate).replaceAll('\r', ''), privateKey };
}
