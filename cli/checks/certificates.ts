import { X509Certificate } from 'node:crypto';
import { certificateBlocks } from '../../shared/domain/text/certificate-blocks.ts';
import { type Deployment, settingOf } from './objects.ts';

/** Key of the serving certificate in its Secret. Certificates are public, so this value can be read. */
export const CERTIFICATE_KEY = 'tls.crt';

/** Returns the name of the Secret with the serving certificate: self-signed, or made by cert-manager. */
export function certificateSecretOf(controller: Deployment): string | undefined {
  const selfSigned = settingOf(controller, 'WEBHOOK_SELF_SIGNED');
  if (selfSigned) return `${selfSigned}-certificate`;
  return controller.spec.template.spec.volumes?.find(({ name }) => name === 'webhook-certs')?.secret?.secretName;
}

/** Parses a PEM bundle. Returns an empty list if one certificate is unreadable. */
export function certificatesOf(pem: string): X509Certificate[] {
  try {
    return certificateBlocks(pem).map((block) => new X509Certificate(block));
  } catch {
    return [];
  }
}

/** Expiry of a certificate, in milliseconds since the epoch. */
export const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);
