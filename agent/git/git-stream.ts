import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { type TerminalError, TransientError } from '../../shared/errors.ts';
import { type Git, killGroup } from '../../shared/io/git/git.ts';
import { endOf } from '../../shared/io/git/git-process.ts';
import { isTooDeep, tooDeep, tooLong } from './find-fault.ts';

/** The repository on disk cannot be read: it is deleted and fetched again. */
export class DamagedCloneError extends TransientError {
  constructor(complaint: string) {
    super('the local clone is corrupt; recreating it', {
      code: 'clone.damaged',
      reason: 'CloneDamaged',
      cause: new Error(complaint.slice(0, 500)),
    });
  }
}

/** A file is not in the repository on disk, for example because it was left out of a fetch. */
export class MissingBlobError extends DamagedCloneError {}

/** A git process whose output is read as it comes. */
export interface GitStream {
  child: ChildProcess;
  output: Readable;
  /**
   * Waits for its end. Throws {@link DamagedCloneError} where git failed, since it only reads what was fetched, and
   * another {@link TransientError} where it did not start, was killed, crashed, or may not take the memory that it needs.
   * Throws {@link TerminalError} where folders are nested too deep for it.
   */
  finish(): Promise<void>;
  /** Ends it now. */
  kill(): void;
}

/** Starts a git command that reads the local repository. The signal ends it, and its output with the signal's reason. */
export function startGitStream(git: Git, gitDir: string, args: string[], signal?: AbortSignal): GitStream {
  signal?.throwIfAborted();
  const child = git.spawn([`--git-dir=${gitDir}`, '--literal-pathspecs', ...args], {});
  const { stdout, stderr, stdin } = child;
  if (!stdout || !stderr || !stdin) throw new Error('git was started without pipes');
  let complaint = '';
  stderr.on('data', (chunk: Buffer) => {
    if (complaint.length < 2_000) complaint += chunk.toString('utf8');
  });
  stdin.on('error', () => {}); // git ended early: its exit status tells
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
      stdout.destroy(); // what nobody reads any more would keep it from being closed for good
      killGroup(child);
    },
  };
}

/** More than the longest path of a file: a tree of a few objects can have longer ones than any memory holds. */
const MAX_RECORD = 1024 ** 2;

/** The records of a stream that end in NUL, in batches: one at a time would take as long as to parse it. */
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

/** Runs a git command that lists records which end in NUL. The command ends with the loop, even if that is left early. */
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
