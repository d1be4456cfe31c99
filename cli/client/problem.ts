import { CodedError } from '../../shared/errors.ts';

/** Exit statuses of all commands; the help lists them. */
export const EXIT = {
  /** Done, and nothing differs. */
  ok: 0,
  /** The command failed, or shows an error or a resource that isn't in sync. */
  failed: 1,
  /** Files differ: `diff`, `drift`, and `plan`, as in diff(1). */
  differs: 2,
  /** The cluster is unreachable, denies access, or lacks the CRDs. */
  unavailable: 3,
  /** The command line is invalid, or a confirmation is needed without a terminal; EX_USAGE of sysexits.h. */
  usage: 64,
} as const;

export type ExitStatus = (typeof EXIT)[keyof typeof EXIT];

/** An error that ends a command, with a one-line message. */
export class Problem extends CodedError {
  readonly status: ExitStatus;

  constructor(message: string, status: ExitStatus = EXIT.failed, options?: ErrorOptions) {
    super(message, 'problem', options);
    this.name = 'Problem';
    this.status = status;
  }
}
