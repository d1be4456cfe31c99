import { messageOf } from '../../../shared/domain/text/message-of.ts';
import type { Transition } from './status-transitions.ts';

/** Consecutive failures before an event is recorded. */
const MIN_FAILURES = 5;

/**
 * Returns the event about several consecutive failures of reconciles. The status can't show them, because writing it may
 * be what fails.
 */
export function failureEvent(failures: number, error: unknown): Transition | undefined {
  if (failures < MIN_FAILURES) return undefined;
  const message = `${failures} consecutive reconciles failed; retrying with backoff: ${messageOf(error)}; see the log of the controller`;
  return { type: 'Warning', reason: 'ReconcileFailed', message };
}
