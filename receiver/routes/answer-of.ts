import type { Outcome } from './receive-delivery.ts';
import { REFUSALS, type Refusal } from './refusals.ts';

export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** Written as JSON, which leaves out what is undefined. */
  body: { accepted: boolean; [field: string]: unknown };
}

/** The HTTP answer to a delivery. */
export function answerOf(outcome: Outcome, requestId?: string): Answer {
  switch (outcome.kind) {
    case 'stored': {
      const { ref, source, superseded } = outcome;
      const body = { accepted: true, ref, source, requestId, superseded: superseded || undefined };
      return { status: 202, headers: {}, body };
    }
    case 'ignored': {
      const { reason, source } = outcome;
      return { status: 200, headers: {}, body: { accepted: false, reason, source, requestId } };
    }
    case 'refused': {
      const { status, error } = REFUSALS[outcome.reason];
      const body = { accepted: false, reason: outcome.reason, error: outcome.error ?? error, requestId };
      return { status, headers: headersOf(outcome), body };
    }
  }
}

function headersOf({ reason, retryAfterSeconds }: Refusal): Record<string, string> {
  if (retryAfterSeconds !== undefined) {
    // What is left of a body must not come in any more where memory is short.
    const close = reason === 'Overloaded' ? { Connection: 'close' } : {};
    return { 'Retry-After': String(retryAfterSeconds), ...close };
  }
  if (reason === 'Unauthorized') return { 'WWW-Authenticate': 'Bearer' };
  return reason === 'MethodNotAllowed' ? { Allow: 'POST' } : {};
}
