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

/** Codes of problems by subject, with the exit status of the command. */
const PROBLEMS = {
  // The command line.
  InvalidArguments: EXIT.usage,
  ConfirmationNeeded: EXIT.usage,
  InvalidRelease: EXIT.usage,
  // Access to the cluster.
  KubeconfigInvalid: EXIT.unavailable,
  CredentialsRejected: EXIT.unavailable,
  Forbidden: EXIT.unavailable,
  NotInstalled: EXIT.unavailable,
  Unavailable: EXIT.unavailable,
  // Objects of the cluster.
  NotFound: EXIT.failed,
  ResourceChanged: EXIT.failed,
  ChangeRejected: EXIT.failed,
  // Changes that would have no effect.
  NoRollout: EXIT.failed,
  NotPreviewed: EXIT.failed,
  NothingToDo: EXIT.failed,
  FollowsAnother: EXIT.failed,
  // Waits and queries.
  SyncFailed: EXIT.failed,
  TimedOut: EXIT.failed,
  Replaced: EXIT.failed,
  Busy: EXIT.failed,
  NothingToShow: EXIT.failed,
  // Files of this machine.
  ManifestInvalid: EXIT.failed,
  CheckoutInvalid: EXIT.failed,
  FileUnusable: EXIT.failed,
  // The page, and this program.
  PageFailed: EXIT.failed,
  Bug: EXIT.failed,
} as const;

export type ProblemCode = keyof typeof PROBLEMS;

/** An error that ends a command, with a one-line message. */
export class Problem extends CodedError {
  readonly status: ExitStatus;

  constructor(message: string, code: ProblemCode, options?: ErrorOptions) {
    super(message, code, options);
    this.name = 'Problem';
    this.status = PROBLEMS[code];
  }
}
