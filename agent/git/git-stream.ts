import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type TerminalError, TransientError } from '../../shared/errors.ts';
import { type Git, killGroup } from '../../shared/io/git/git.ts';
import { endOf } from '../../shared/io/git/git-process.ts';
import { isTooDeep, tooDeep, tooLong } from './find-fault.ts';

/** The repository on disk can't be read: it is deleted and fetched again. */
export class DamagedCloneError extends TransientError {
  constructor(complaint: string) {
    super('the local clone is corrupt; recreating it', {
      code: 'clone.damaged',
      reason: 'CloneDamaged',
      cause: new Error(complaint.slice(0, 500)),
    });
  }
}

/** A file isn't in the repository on disk, for example because it was omitted from a fetch. */
export class MissingBlobError extends DamagedCloneError {}

/** A git process whose output is read as it arrives. */
export interface GitStream {
  child: ChildProcess;
  output: Readable;
  /**
   * Waits for its exit. Throws {@link DamagedCloneError} if git failed, because it only reads fetched objects; another
   * {@link TransientError} if it didn't start, was killed, crashed, or exceeded its memory limit; and
   * {@link TerminalError} if directories are nested too deep for it.
   */
  finish(): Promise<void>;
  /** Ends it immediately. */
  kill(): void;
}

/** Starts a git command that reads the local repository. The signal ends it, and the output fails with its reason. */
export function startGitStream(git: Git, gitDir: string, args: string[], signal?: AbortSignal): GitStream {
  signal?.throwIfAborted();
  const child = git.spawn([`--git-dir=${gitDir}`, '--literal-pathspecs', ...args], {});
  const { stdout, stderr, stdin } = child;
  if (!stdout || !stderr || !stdin) throw new Error('git was started without pipes');
  let complaint = '';
  stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < 2_000) complaint += chunk.toString('utf8');
  });
  stdin.on('error', () => {}); // git exited early: its exit status has the reason
  const ended = endOf(child);
  const onAbort = () => {
    stdout.destroy(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    killGroup(child);
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  const forget = () => signal?.removeEventListener('abort', onAbort);
  void ended.then(forget);
  return {
    child,
    output: stdout,
    finish: async () => {
      const { code, problem } = await ended;
      signal?.throwIfAborted();
      if (problem) throw problem;
      if (code === 0) return;
      if (isTooDeep(complaint)) throw tooDeep(new Error(complaint.slice(0, 500)));
      throw git.limitErrorOf(complaint) ?? new DamagedCloneError(complaint);
    },
    kill: () => {
      stdout.destroy(); // unread output would keep the process from closing
      killGroup(child);
    },
  };
}

/** Longer than any path of a file: a tree of a few objects can have paths that fit no memory. */
const MAX_RECORD = 1024 ** 2;

/** Splits a stream into records that end in NUL, in batches: yielding each one would take as long as parsing it. */
export async function* recordsOf(output: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  for await (const chunk of output) {
    const records: Buffer[] = [];
    let start = 0;
    for (let end = chunk.indexOf(0); end !== -1; end = chunk.indexOf(0, start)) {
      const record = chunk.subarray(start, end);
      records.push(pending.length === 0 ? record : Buffer.concat([...pending, record]));
      pending = [];
      pendingBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) pending.push(chunk.subarray(start));
    pendingBytes += chunk.length - start;
    if (pendingBytes > MAX_RECORD) throw tooLong();
    yield records;
  }
}

/** Runs a git command that lists records that end in NUL. It ends with the loop, even if the loop exits early. */
export async function* recordsFrom(
  git: Git,
  gitDir: string,
  args: string[],
  signal?: AbortSignal,
): AsyncGenerator<Buffer[]> {
  const stream = startGitStream(git, gitDir, args, signal);
  stream.child.stdin?.end();
  try {
    yield* recordsOf(stream.output);
    await stream.finish();
  } finally {
    stream.kill();
  }
}
