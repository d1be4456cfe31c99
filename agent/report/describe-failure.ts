import { messageOf, TerminalError, TransientError, WaitingError } from '../../shared/errors.ts';

/** What a failed sync looks like from outside. */
export interface Failure {
  message: string;
  code: string;
  /** Whether it is expected to pass without anybody's doing. */
  isWaiting: boolean;
  /** Least time to wait before the next try, in milliseconds, where somebody asked for it. */
  retryAfterMs: number;
}

/** What the errors of a file system mean to a person. */
const words: Record<string, string> = {
  ENOSPC: 'the data volume is full',
  EDQUOT: 'the data volume is full (quota)',
  EROFS: 'the data volume is mounted read-only',
  EACCES: 'the agent may not write to the data volume: it has to run as the user of the gateway',
  EPERM: 'the agent may not write to the data volume: it has to run as the user of the gateway',
  EISDIR: 'a folder took the place of a file during the sync',
  ENOTDIR: 'a file took the place of a folder during the sync',
  EXDEV: 'another volume is mounted inside the data volume: the agent cannot deliver into it',
  EBUSY: 'a mount or a program holds on to a file or folder of the data volume: the agent cannot replace or remove it',
  ENAMETOOLONG: 'the name of a file is too long for the data volume',
};

/** Maps anything that a sync threw to its report, its log line and its retry. */
export function describeFailure(error: unknown): Failure {
  const isWaiting = error instanceof WaitingError;
  if (isWaiting || error instanceof TransientError) {
    return { message: error.message, code: error.code, isWaiting, retryAfterMs: error.retryAfterMs ?? 0 };
  }
  if (error instanceof TerminalError) return passing(error.message, error.code);
  const { code = 'unexpected', path, dest = path } = error as NodeJS.ErrnoException & { dest?: string };
  const known = words[code];
  if (!known) return passing(messageOf(error), code);
  return passing(`${known} (${code}${dest ? `, ${dest}` : ''})`, `data.${code}`);
}

const passing = (message: string, code: string): Failure => ({ message, code, isWaiting: false, retryAfterMs: 0 });
