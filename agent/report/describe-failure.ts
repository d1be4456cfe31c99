import type { Reason } from '../../shared/api/reasons.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { TerminalError, TransientError, WaitingError } from '../../shared/errors.ts';

/** A failed sync as users see it. */
export interface Failure {
  message: string;
  code: string;
  reason: Reason;
  /** Whether it is expected to resolve by itself. */
  isWaiting: boolean;
  /** Minimum delay before the next try (ms), if a server requested one. */
  retryAfterMs: number;
  /** Whether retries are pointless until a user changes the commit, the spec, or the volume. */
  isFinal: boolean;
}

const notAllowed =
  "the agent can't write to the data volume: in the pod's securityContext, set runAsUser to the user that owns the files, and fsGroup if it isn't set, or change the owner of the files to the agent's user";

/** A file system error in words. */
interface Explanation {
  words: string;
  /** If omitted, the volume can't be used. */
  reason?: Reason;
  /** Whether retries can't resolve it. A full volume can get space again, and obstacles can disappear. */
  isFinal?: boolean;
}

const EXPLANATIONS: Record<string, Explanation> = {
  ENOSPC: { words: 'the data volume is full', reason: 'VolumeFull' },
  EDQUOT: { words: 'the data volume is full (quota)', reason: 'VolumeFull' },
  EROFS: { words: 'the data volume is mounted read-only', isFinal: true },
  EIO: { words: 'the disk or file server of the data volume reports I/O errors' },
  EACCES: { words: notAllowed, isFinal: true },
  EPERM: { words: notAllowed, isFinal: true },
  EISDIR: { words: 'a directory replaced a file during the sync', reason: 'PathConflict' },
  ENOTDIR: { words: 'a file replaced a directory during the sync', reason: 'PathConflict' },
  EXDEV: {
    words: 'another volume is mounted inside the data volume, and the agent cannot deliver into it',
    reason: 'PathConflict',
    isFinal: true,
  },
  EBUSY: {
    words: 'a mount or a program uses a file or directory of the data volume, so the agent cannot replace or remove it',
  },
  ENAMETOOLONG: { words: 'a file name is too long for the data volume', isFinal: true },
};

/** The path of a directory that the agent holds open: it is meaningless to users and can differ at each try. */
const HELD = /\/proc\/\w+\/fd\/\d+\//g;

/** Maps any error of a sync to its report, log line, and retry. */
export function describeFailure(error: unknown): Failure {
  const plain = { isWaiting: false, retryAfterMs: 0, isFinal: false };
  if (error instanceof TransientError || error instanceof WaitingError) {
    const { message, code, reason, retryAfterMs = 0 } = error;
    return { ...plain, message, code, reason, isWaiting: error instanceof WaitingError, retryAfterMs };
  }
  if (error instanceof TerminalError) {
    const { message, code, reason } = error;
    return { ...plain, message, code, reason, isFinal: true };
  }
  const { code = 'unexpected', path, dest = path } = error as NodeJS.ErrnoException & { dest?: string };
  const known = EXPLANATIONS[code];
  if (!known) {
    const message = `${messageOf(error).replace(HELD, '')}; see the log of the agent`;
    return { ...plain, message, code, reason: 'UnexpectedError' };
  }
  const { words, reason = 'VolumeUnusable', isFinal = false } = known;
  const message = `${words} (${code}${dest ? `, ${dest.replace(HELD, '')}` : ''})`;
  return { ...plain, message, code: `data.${code}`, reason, isFinal };
}

/** States of waits that aren't `Pending`: a standby is left alone on purpose, and users stay for too long. */
const STATES: Partial<Record<string, 'Paused' | 'Error'>> = {
  'gateway.standby': 'Paused',
  'gateway.editorsStay': 'Error',
};

/** Returns the state of a gateway after a failed sync. */
export const stateAfter = ({ isWaiting, code }: Failure): 'Paused' | 'Pending' | 'Error' =>
  STATES[code] ?? (isWaiting ? 'Pending' : 'Error');
