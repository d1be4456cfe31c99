/** An error with a code for programs, as those of Node have one. */
export class CodedError extends Error {
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The code of an error of Node, or of one of ours; empty if it has none. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | null | undefined)?.code ?? '');

/** What an error says next to its message: a stable code for programs, and the condition reason it leads to. */
export interface ErrorDetails {
  /** Stable, for programs and docs: `git.unreachable`. */
  code: string;
  /** Reason of the condition that reports it, CamelCase. */
  reason: string;
  cause?: unknown;
}

/** Base of the three kinds of error that a reconcile knows; the kind decides what happens next. */
abstract class SyncError extends CodedError {
  readonly reason: string;

  constructor(message: string, { code, reason, cause }: ErrorDetails) {
    super(message, code, { cause });
    this.name = new.target.name;
    this.reason = reason;
  }
}

/** Goes away by itself: tried again with back-off. */
export class TransientError extends SyncError {
  /** The other side asked to wait that long, in milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails & { retryAfterMs?: number | undefined }) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Waits for something that is expected to happen; tried again after a fixed time. */
export class WaitingError extends SyncError {
  readonly retryAfterMs: number;

  constructor(message: string, details: ErrorDetails & { retryAfterMs: number }) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Stays until a person changes something: not tried again before that, or before the next poll. */
export class TerminalError extends SyncError {}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Whether an error says by itself what leads on from it. */
export function isTyped(error: unknown): error is TransientError | TerminalError {
  return error instanceof TransientError || error instanceof TerminalError;
}
