import type { Target } from '../annotations/target.ts';
import type { DeliveryHeaders } from '../sources/delivery.ts';
import type { Outcome } from './receive-delivery.ts';

/** What is told of every answered request: for the log and the metrics. */
export interface AnswerRecord {
  /** Undefined where the request was refused before it was looked at. */
  requestId: string | undefined;
  target: Target;
  headers: DeliveryHeaders;
  outcome: Outcome;
  seconds: number;
}

/** The sender, as far as it was found out. */
export function sourceOf(outcome: Outcome): string {
  return outcome.source ?? 'unknown';
}

/** Why a delivery was ignored, refused or superseded; empty where it was stored. */
export function reasonOf(outcome: Outcome): string {
  if (outcome.kind === 'stored') return outcome.superseded ? 'Superseded' : '';
  return outcome.reason;
}
