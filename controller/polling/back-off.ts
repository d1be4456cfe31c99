import { boundedWaitMs } from '../../shared/domain/duration.ts';
import { isTyped, TransientError } from '../../shared/errors.ts';

const BACKOFF_MS = { base: 5_000, max: 300_000 };
/** The most where another Secret may help, in milliseconds: a poll of the usual interval. The controller watches no Secrets. */
const ACCESS_MAX_MS = 60_000;
const ABOUT_ACCESS = [
  ...['AuthenticationFailed', 'RepositoryNotFound', 'SecretNotFound', 'SecretTooLarge'],
  ...['HostKeyVerificationFailed', 'CertificateNotTrusted', 'UnexpectedRedirect'],
];
/** However soon a host wants to be asked again, in milliseconds. */
const LEAST_BACKOFF_MS = 1_000;

/**
 * Milliseconds until a host is asked again that has failed for so long: about that long again, with jitter, unless the
 * host itself named a time. It doubles from poll to poll, and questions in between do not raise it: a burst of
 * deliveries during an outage puts no poll off.
 */
export function backoff(error: Error, failingForMs: number): number {
  const asked = error instanceof TransientError ? error.retryAfterMs : undefined;
  const max = isTyped(error) && ABOUT_ACCESS.includes(error.reason) ? ACCESS_MAX_MS : BACKOFF_MS.max;
  const limit = Math.min(max, BACKOFF_MS.base + failingForMs);
  return boundedWaitMs(Math.max(LEAST_BACKOFF_MS, asked ?? limit * (0.75 + Math.random() * 0.25)));
}
