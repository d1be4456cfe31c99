import { boundedWaitMs } from '../../shared/domain/duration.ts';
import { TransientError } from '../../shared/errors.ts';

const BACKOFF_MS = { base: 5_000, max: 300_000 };
/** However soon a host wants to be asked again, in milliseconds. */
const LEAST_BACKOFF_MS = 1_000;

/**
 * Milliseconds until a host is asked again that has failed for so long: about that long again, with jitter, unless the
 * host itself named a time. It doubles from poll to poll, and questions in between do not raise it: a burst of
 * deliveries during an outage puts no poll off.
 */
export function backoff(error: Error, failingForMs: number): number {
  const asked = error instanceof TransientError ? error.retryAfterMs : undefined;
  const limit = Math.min(BACKOFF_MS.max, BACKOFF_MS.base + failingForMs);
  return boundedWaitMs(Math.max(LEAST_BACKOFF_MS, asked ?? limit * (0.75 + Math.random() * 0.25)));
}
