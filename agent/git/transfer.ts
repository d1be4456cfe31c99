import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git } from '../../shared/io/git/git.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { gitErrorOf } from '../../shared/io/git/git-error.ts';
import { CLONE_VOLUME } from '../disk/volume-error.ts';
import { healClone } from './tidy-clone.ts';

/** Limits of a transfer. */
export interface TransferLimits {
  /** Time limit if `spec.git.timeout` isn't set (ms). */
  totalMs: number;
  /** curl ends a transfer that is slower than this for that long; ssh:// and git:// have no such limit. */
  lowSpeed: { bytesPerSecond: number; seconds: number };
  /** Maximum size of a pack (bytes): without a limit, a server could fill the disk of the node. */
  packBytes: number;
}

const TRANSFER_LIMITS: TransferLimits = {
  totalMs: 3_600_000,
  lowSpeed: { bytesPerSecond: 500, seconds: 300 },
  packBytes: 10e9,
};

/** A disk that accepts this much isn't full. A fetch creates fewer than ten files. */
const ROOM = { bytes: 64 * 1024, files: 16 };

export interface Transfer {
  gitDir: string;
  access: GitAccess;
  signal: AbortSignal | undefined;
  /** Lines for git's input. */
  input?: string;
  /** Time limit of the transfer (ms). */
  timeoutMs?: number | undefined;
  limits?: TransferLimits | undefined;
}

/** Runs a fetch within the limits. Throws {@link TerminalError} or {@link TransientError}. */
export async function transfer(git: Git, args: string[], options: Transfer): Promise<void> {
  const { gitDir, access, signal, input, limits = TRANSFER_LIMITS, timeoutMs = limits.totalMs } = options;
  const { bytesPerSecond, seconds } = limits.lowSpeed;
  const slow = ['-c', `http.lowSpeedLimit=${bytesPerSecond}`, '-c', `http.lowSpeedTime=${seconds}`];
  try {
    await git.run([`--git-dir=${gitDir}`, ...slow, ...args], {
      access,
      timeoutMs,
      signal,
      limits: { ...git.limits, fileBytes: limits.packBytes },
      input,
    });
  } catch (error) {
    const isFull = mayBeFull(error) && !(await hasRoom(gitDir));
    // The next fetch removes it as well, but might start late.
    await healClone(gitDir).catch(() => {});
    throw isFull ? noSpace(error) : explain(error, timeoutMs, limits);
  }
}

function explain(error: unknown, timeoutMs: number, { packBytes }: TransferLimits): unknown {
  if (error instanceof TransientError && error.code === 'git.timeout') return tooLong(timeoutMs);
  if (error instanceof TransientError && error.code === 'git.fileTooLarge') return packTooLarge(packBytes, error);
  return isNoSpace(error) ? gitErrorOf('', { cause: error }) : error;
}

const isNoSpace = (error: unknown): error is TerminalError =>
  error instanceof TerminalError && error.code === 'git.noSpace';

/** Checks whether a full disk could be the reason: git's output can look like a server's message. */
const mayBeFull = (error: unknown): error is Error =>
  isNoSpace(error) || (error instanceof TransientError && ['git.unreachable', 'git.brokeOff'].includes(error.code));

const noSpace = (cause: Error) =>
  new TransientError(`${CLONE_VOLUME} is full`, { code: 'git.noSpace', reason: 'CloneUnusable', cause });

/** Checks for space on disk: a server can fabricate the error, and git's files still exist after a failure. */
async function hasRoom(gitDir: string): Promise<boolean> {
  const file = join(gitDir, 'tmp_room');
  const more = Array.from({ length: ROOM.files - 1 }, (_, index) => `${file}_${index}`);
  try {
    await writeFile(file, Buffer.alloc(ROOM.bytes, 1), { flush: true });
    for (const empty of more) await writeFile(empty, '');
    return true;
  } catch {
    return false;
  } finally {
    for (const made of [file, ...more]) await rm(made, { force: true }).catch(() => {});
  }
}

const packTooLarge = (bytes: number, cause: Error) =>
  new TransientError(
    `the git server sent more than ${bytes / 1e6} MB in one fetch: map less of the repository, exclude submodules, or keep large files in Git LFS`,
    { code: 'git.packTooLarge', reason: 'GitAnswerTooLarge', cause },
  );

const tooLong = (ms: number) =>
  new TransientError(`the fetch took longer than ${ms / 1000} s (spec.git.timeout) and was stopped; retrying`, {
    code: 'git.timeout',
    reason: 'GitTimeout',
  });
