import { ageOf, isCurrent, isFor, isValid, splitBundle } from './judge-certificate.ts';
import { canSign, type KeyPair, makeAuthority, makeSelfSigned, makeServingCertificate } from './make-certificate.ts';
import type { WebhookSecret } from './webhook-secret.ts';

/** What the certificates are judged by. */
export interface CertificateState {
  /** Names by which the API server calls. */
  hosts: string[];
  /** Milliseconds since 1970. */
  now: number;
  /** The CAs that the API server trusts for every webhook of the configuration, PEM. */
  published: string;
}

/** Time for all API servers to load a new CA, and for all replicas to load a new certificate. */
const OVERLAP_MS = 3_600_000;

/**
 * Gives the certificates that should be in place, or the same object if nothing has to change. Before a CA ends, the
 * next one is published with it, and signs only after that. The old one stays published for a while, since other
 * replicas may still serve what it signed.
 */
export function renewCertificates(current: WebhookSecret | undefined, situation: CertificateState): WebhookSecret {
  const authority = current && authorityOf(current);
  if (!current || !authority || !isValid(authority, situation.now) || !canSign(authority)) return startOver(situation);
  const followed = isCurrent(authority, situation.now) ? current : followAuthority(current, situation);
  return renewServing(followed, situation);
}

/** Gives a certificate that signs itself: the current one while it is good, otherwise a new one. */
export function renewSelfSigned(current: KeyPair | undefined, hosts: string[], now: number): KeyPair {
  return current && isCurrent(current, now) ? current : makeSelfSigned(hosts, now);
}

/** The CAs that the API server has to trust. */
export function bundleOf(secret: WebhookSecret): string {
  const authorities = [secret['ca.crt'], secret['next-ca.crt'], secret['previous-ca.crt']];
  return authorities.flatMap((pem) => (pem ? [`${pem.trim()}\n`] : [])).join('');
}

/** Keeps the published CA trusted: other replicas may not have noticed yet that the Secret is gone. */
function startOver(situation: CertificateState): WebhookSecret {
  const previous = splitBundle(situation.published, situation.now).join('');
  return issue(makeAuthority(situation.now), situation, previous);
}

function followAuthority(current: WebhookSecret, situation: CertificateState): WebhookSecret {
  const { now, published } = situation;
  const next = nextOf(current);
  if (!next || !isCurrent(next, now) || !canSign(next)) {
    const { certificate, privateKey } = makeAuthority(now);
    return { ...current, 'next-ca.crt': certificate, 'next-ca.key': privateKey };
  }
  const isPublished = splitBundle(published, now).some((pem) => pem.trim() === next.certificate.trim());
  if (!isPublished || ageOf(next.certificate, now) < OVERLAP_MS) return current;
  return issue(next, situation, current['ca.crt']);
}

function renewServing(current: WebhookSecret, situation: CertificateState): WebhookSecret {
  const { hosts, now } = situation;
  const serving = { certificate: current['tls.crt'], privateKey: current['tls.key'] };
  const { 'previous-ca.crt': previous, ...others } = current;
  if (!isCurrent(serving, now) || !isFor(serving.certificate, hosts, current['ca.crt']))
    return { ...current, ...servingFields(authorityOf(current), situation) };
  return previous && ageOf(serving.certificate, now) > OVERLAP_MS ? others : current;
}

function issue(authority: KeyPair, situation: CertificateState, previous: string): WebhookSecret {
  return {
    'ca.crt': authority.certificate,
    'ca.key': authority.privateKey,
    ...servingFields(authority, situation),
    ...(previous ? { 'previous-ca.crt': previous } : {}),
  };
}

function servingFields(authority: KeyPair, { hosts, now }: CertificateState) {
  const { certificate, privateKey } = makeServingCertificate(authority, hosts, now);
  return { 'tls.crt': certificate, 'tls.key': privateKey };
}

function authorityOf(secret: WebhookSecret): KeyPair {
  return { certificate: secret['ca.crt'], privateKey: secret['ca.key'] };
}

function nextOf(secret: WebhookSecret): KeyPair | undefined {
  const { 'next-ca.crt': certificate, 'next-ca.key': privateKey } = secret;
  return certificate && privateKey ? { certificate, privateKey } : undefined;
}
