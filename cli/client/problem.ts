/** Exit statuses, for scripts. */
export const EXIT = {
  ok: 0,
  /** What was asked for did not work out, or what is shown is not in sync. */
  failed: 1,
  /** The command line is wrong, or nobody is there to be asked. */
  usage: 2,
  /** The cluster cannot be reached, does not know the caller, does not allow it, or lacks the CRDs. */
  unavailable: 3,
} as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** Ends a command with one line that says what is wrong and what to do. */
export class Problem extends Error {
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus = EXIT.failed, options?: ErrorOptions) {
    super(message, options);
    this.name = 'Problem';
    this.status = status;
  }
}
