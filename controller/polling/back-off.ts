import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { boundedWaitMs } from '../../shared/domain/text/duration.ts';
import { isTyped, TransientError } from '../../shared/errors.ts';

const BACKOFF_MS = { base: 5_000, max: 300_000 };
/** Maximum if another Secret can help (ms): a poll of the usual interval, because the controller doesn't watch Secrets. */
const ACCESS_MAX_MS = 60_000;
const ABOUT_ACCESS = [
  'AuthenticationFailed',
  'RepositoryNotFound',
  'SecretNotFound',
  'SecretTooLarge',
  'HostKeyVerificationFailed',
  'CertificateNotTrusted',
  'UnexpectedRedirect',
];
/** Minimum, even if the host requests less (ms). */
const MIN_BACKOFF_MS = 1_000;

/**
 * Delay before the next query of a host that has been failing for a time (ms): about the same time again, with jitter,
 * unless the host requested another one. It doubles from poll to poll. Queries in between don't raise it, so a burst of
 * deliveries during an outage delays no poll.
 */
export function backoff(error: Error, failingForMs: number): number {
  const asked = error instanceof TransientError ? error.retryAfterMs : undefined;
  const maxMs = isTyped(error) && ABOUT_ACCESS.includes(error.reason) ? ACCESS_MAX_MS : BACKOFF_MS.max;
  const usual = { baseMs: BACKOFF_MS.base + failingForMs, maxMs, jitter: 0.25 };
  return boundedWaitMs(Math.max(MIN_BACKOFF_MS, asked ?? backoffMs(1, usual, Math.random())));
}
