import type { Reason } from './api/reasons.ts';

/** An error of this project, with a message for users and a machine-readable code like Node's. */
export class CodedError extends Error {
  readonly code: string;

  constructor(message: string, code: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The code of an error; empty if it has none. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | null | undefined)?.code ?? '');

/**
 * Checks whether an error shows a bug in this program. Errors of connections, files, and API servers have a code, and a
 * `SyntaxError` is from a response that isn't JSON.
 */
export const isBug = (error: unknown): boolean =>
  error instanceof Error && codeOf(error) === '' && !(error instanceof SyntaxError);

/** A stable, machine-readable code and the reason of the resulting condition. */
export interface ErrorDetails {
  /** Stable, for programs and docs: `git.unreachable`. */
  code: string;
  /** Reason of the condition that reports it, CamelCase. */
  reason: Reason;
  cause?: unknown;
}

/** Base of the three kinds of errors in a reconcile; the kind determines the next action. */
abstract class SyncError extends CodedError {
  readonly reason: Reason;

  constructor(message: string, { code, reason, cause }: ErrorDetails) {
    super(message, code, { cause });
    this.name = new.target.name;
    this.reason = reason;
  }
}

/** A temporary error, retried with backoff. */
export class TransientError extends SyncError {
  /** Delay requested by the server (ms). */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, details: ErrorDetails & { retryAfterMs?: number | undefined }) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** Waits for an expected event; retried after a fixed time. */
export class WaitingError extends SyncError {
  readonly retryAfterMs: number;

  constructor(message: string, details: ErrorDetails & { retryAfterMs: number }) {
    super(message, details);
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** A problem of a release. Its key doesn't contain lines, counts, and commits, which change in the message. */
export interface Problem {
  key: string;
  message: string;
}

/** Maximum problems that are collected while looking for all of them. */
export const MAX_PROBLEMS = 20;

/** A permanent error, retried only after a change, or with the next poll. */
export class TerminalError extends SyncError {
  // Private, so that logs don't repeat them.
  readonly #problems: readonly Problem[] | undefined;

  constructor(message: string, details: ErrorDetails & { problems?: readonly Problem[] }) {
    super(message, details);
    this.#problems = details.problems;
  }

  /** The problems that the error consists of, at least one. */
  get problems(): readonly Problem[] {
    return this.#problems ?? [{ key: this.code, message: this.message }];
  }
}

/** Checks whether an error is of one of the three kinds. */
export function isTyped(error: unknown): error is TransientError | TerminalError {
  return error instanceof TransientError || error instanceof TerminalError;
}

/** A copy of an error with another message. */
export function withMessage(error: TransientError | TerminalError, message: string): TransientError | TerminalError {
  const { code, reason } = error;
  if (error instanceof TerminalError) return new TerminalError(message, { code, reason, cause: error });
  return new TransientError(message, { code, reason, cause: error, retryAfterMs: error.retryAfterMs });
}
