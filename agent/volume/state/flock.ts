import { spawn } from 'node:child_process';
import { causeOf } from '../../../shared/domain/text/message-of.ts';
import { TransientError } from '../../../shared/errors.ts';

/** `unsupported`: the file system has no locks, or this machine has no flock(1). */
export type FlockResult = { kind: 'locked' | 'held' } | { kind: 'unsupported'; reason: string };

/** Time limit of flock(1) (ms): it would wait forever for a file server that doesn't respond. */
const TIMEOUT_MS = 10_000;
/** Exit status of flock(1) if another process has the lock. */
const CONFLICT = 1;
/** Its message if SMB refuses a lock that another client has. */
const REFUSED = /Permission denied/;
const NO_LOCKS = /No locks available|not supported|Function not implemented/;
/** Its messages for errors of the file system (strerror(3)). */
const SYSTEM_ERRORS = [
  [/Input\/output error/, causeOf({ code: 'EIO' })],
  [/Stale/, causeOf({ code: 'ESTALE' })],
] as const;

/**
 * Locks an open file with flock(1), because Node has no such call. The lock belongs to the open file and not to the
 * process that requested it, so it lasts until this process closes the descriptor or exits. Throws
 * {@link TransientError} if locking exceeds `timeoutMs`, or fails in another way.
 */
export async function flock(descriptor: number, timeoutMs = TIMEOUT_MS): Promise<FlockResult> {
  const child = spawn('flock', ['--nonblock', '3'], { stdio: ['ignore', 'ignore', 'pipe', descriptor] });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    output = `${output}${text}`.slice(0, 1024);
  });
  const { promise, resolve, reject } = Promise.withResolvers<FlockResult>();
  const timer = setTimeout(() => {
    child.kill('SIGKILL');
    child.unref();
    reject(failure(`no response within ${timeoutMs / 1000} s: check the volume's file server`));
  }, timeoutMs);
  child.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') resolve({ kind: 'unsupported', reason: 'flock(1) is not installed' });
    else reject(failure(causeOf(error)));
  });
  child.once('close', (code, signal) => {
    if (code === 0) resolve({ kind: 'locked' });
    else if (code === CONFLICT || REFUSED.test(output)) resolve({ kind: 'held' });
    else if (NO_LOCKS.test(output)) resolve({ kind: 'unsupported', reason: 'its file system has no locks' });
    else
      reject(failure(SYSTEM_ERRORS.find(([text]) => text.test(output))?.[1] ?? `flock exited with ${code ?? signal}`));
  });
  return await promise.finally(() => clearTimeout(timer));
}

const failure = (what: string) =>
  new TransientError(`the data volume can't be locked: ${what}`, { code: 'data.lock', reason: 'VolumeUnusable' });
