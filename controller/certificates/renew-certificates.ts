import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { ageOf, isCurrent, isFor, isOwnAuthority, isValid, splitBundle } from './judge-certificate.ts';
import { type KeyPair, makeAuthority, makeSelfSigned, makeServingCertificate } from './make-certificate.ts';
import type { WebhookSecret } from './webhook-secret.ts';

/** Facts from which certificates are judged. */
export interface CertificateState {
  /** Host names that the API server calls. */
  hosts: string[];
  /** Milliseconds since 1970. */
  now: number;
  /** The CAs that the API server trusts for every webhook of the configuration, PEM. */
  published: string;
}

/** Time for all API servers to load a new CA, and for all replicas to load a new certificate. */
const OVERLAP_MS = 3_600_000;

/**
 * Returns the certificates to use, or the same object if nothing changes. A CA is replaced long before it expires. The
 * new one is published with it, and signs an hour later. The old one remains published for another hour, because other
 * replicas may still serve the certificate that it signed.
 */
export function renewCertificates(current: WebhookSecret | undefined, situation: CertificateState): WebhookSecret {
  const { now } = situation;
  if (!current || !isOwnAuthority(authorityOf(current), now)) return restart(situation);
  const served = renewServing(current, situation);
  if (isCurrent(authorityOf(current), now)) return served;
  return { ...served, ...authorityFields(makeAuthority(now)), 'previous-ca.crt': current['ca.crt'] };
}

/** Returns a self-signed certificate: the current one while it is valid, otherwise a new one. */
export function renewSelfSigned(current: KeyPair | undefined, hosts: string[], now: number): KeyPair {
  return current && isCurrent(current, now) ? current : makeSelfSigned(hosts, now);
}

/** Returns the CAs that the API server must trust. */
export function bundleOf(secret: WebhookSecret): string {
  const authorities = [secret['ca.crt'], secret['previous-ca.crt']];
  return authorities.flatMap((pem) => (pem ? [`${pem.trim()}\n`] : [])).join('');
}

/** Keeps the published CA trusted, because other replicas may not have noticed that the Secret is gone. */
function restart(situation: CertificateState): WebhookSecret {
  const authority = makeAuthority(situation.now);
  const previous = splitBundle(situation.published, situation.now).join('');
  return withoutUndefined({
    ...authorityFields(authority),
    ...servingFields(authority, situation),
    'previous-ca.crt': previous || undefined,
  });
}

function renewServing(current: WebhookSecret, situation: CertificateState): WebhookSecret {
  const { hosts, now } = situation;
  const { 'previous-ca.crt': previous, ...others } = current;
  const serving = { certificate: current['tls.crt'], privateKey: current['tls.key'] };
  const isFrom = (authority: string) => isFor(serving.certificate, hosts, authority);
  const isNew = ageOf(current['ca.crt'], now) < OVERLAP_MS;
  // Some API servers may not have loaded the new CA.
  if (previous && isNew && isFrom(previous) && isValid(serving, now)) return current;
  if (!isCurrent(serving, now) || !isFrom(current['ca.crt']))
    return { ...current, ...servingFields(authorityOf(current), situation) };
  return previous && ageOf(serving.certificate, now) > OVERLAP_MS ? others : current;
}

function authorityFields({ certificate, privateKey }: KeyPair) {
  return { 'ca.crt': certificate, 'ca.key': privateKey };
}

function servingFields(authority: KeyPair, { hosts, now }: CertificateState) {
  const { certificate, privateKey } = makeServingCertificate(authority, hosts, now);
  return { 'tls.crt': certificate, 'tls.key': privateKey };
}

function authorityOf(secret: WebhookSecret): KeyPair {
  return { certificate: secret['ca.crt'], privateKey: secret['ca.key'] };
}
