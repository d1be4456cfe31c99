import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { codeOf, TransientError } from '../../errors.ts';

/** Starts a process with pipes. Throws {@link TransientError}, or {@link endOf} reports that it didn't start. */
export function startProcess(program: string, args: string[], options: SpawnOptions): ChildProcess {
  let child: ChildProcess;
  try {
    child = spawn(program, args, { ...options, stdio: 'pipe' });
  } catch (cause) {
    throw notStarted(cause);
  }
  if (child.stdin && child.stdout && child.stderr) return child;
  child.on('error', () => {}); // endOf reports it
  throw notStarted({ code: 'EMFILE' });
}

/** Result of a process: its exit status, or the reason why it has none. */
interface End {
  code: number | null;
  /** It didn't start, was killed, or crashed. */
  problem: TransientError | undefined;
}

/** Exit status of a shell that couldn't start a program, with Node's code for it. */
const unstarted: Record<number, string> = { 126: 'EACCES', 127: 'ENOENT' };

/** Waits until a process ends. Never throws. */
export async function endOf(child: ChildProcess): Promise<End> {
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    const obstacle = unstarted[code ?? 0];
    if (obstacle) return { code, problem: notStarted({ code: obstacle }) };
    return { code, problem: signal ? endings[signal]?.() : undefined };
  } catch (cause) {
    return { code: null, problem: notStarted(cause) };
  }
}

const withoutAnswer = ['git.notStarted', 'git.killed', 'git.crashed', 'git.timeout', 'git.answerTooLarge'];

/** Returns whether git was killed before it had a result, for example because memory ran out. */
export function saidNothing(error: unknown): boolean {
  return error instanceof TransientError && withoutAnswer.includes(error.code);
}

/** Reasons why a process can't be started, by Node's error code. */
const obstacles: Record<string, string> = {
  ENOENT: "it isn't in the image",
  EACCES: "it isn't executable",
  EAGAIN: 'the container or its node has reached its limit of processes',
  ENOMEM: "there isn't enough memory",
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open on the node',
};

function notStarted(cause: unknown): TransientError {
  const code = codeOf(cause) || 'unknown error';
  const why = obstacles[code] ?? 'the system rejected it';
  return new TransientError(`git can't be started: ${why} (${code}); retrying`, {
    code: 'git.notStarted',
    reason: 'GitUnreachable',
    cause,
  });
}

const killed = () =>
  new TransientError('git was killed, probably for lack of memory; check the memory limit of the container; retrying', {
    code: 'git.killed',
    reason: 'GitUnreachable',
  });

const crashed = () =>
  new TransientError('git crashed (SIGSEGV), probably because of deeply nested directories in the commit; retrying', {
    code: 'git.crashed',
    reason: 'GitUnreachable',
  });

/** Signals that end git without a result. */
const endings: Partial<Record<NodeJS.Signals, () => TransientError>> = { SIGKILL: killed, SIGSEGV: crashed };
