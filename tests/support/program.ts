import path from 'node:path';
import { type GuardedProcess, type ProcessEnd, startGuarded } from '../../scripts/testbed/guarded-process.ts';
import { cleanUp, type Scope } from './clean-up.ts';
import { until } from './until.ts';

/** A program under test. */
export interface Program {
  pid: number;
  /** All output so far, stdout and stderr together. */
  readonly output: string;
  /** Resolves when the program has exited. */
  exited: Promise<ProcessEnd>;
  /** Waits until the output matches, for 120,000 ms by default; fails with the output, at once if the program exits. */
  waitForLog(pattern: RegExp, timeout?: number): Promise<RegExpMatchArray>;
  /** Shuts the program down and waits until it has exited. */
  stop(signal?: NodeJS.Signals): Promise<ProcessEnd>;
  /** Kills the program (SIGKILL) and waits until it has exited. */
  kill(): Promise<ProcessEnd>;
}

/** Options for a bundle. */
export interface ProgramOptions {
  cwd?: string;
  /** Flags of Node itself. */
  nodeArgs?: string[];
  args?: string[];
  /** File `cgroup.procs` of the cgroup to run in. */
  cgroup?: string | undefined;
  /** Command that runs the program, such as one that enters a network namespace. */
  within?: string[] | undefined;
}

/**
 * Runs a bundle (`dist/receiver.mjs`, relative to the checkout) with this Node and an environment of PATH, HOME, `env`, and,
 * unless its memory is limited, the compile cache of this test run. After the test it is killed with all that it started.
 */
export function startProgram(
  t: Scope,
  bundle: string,
  { env, ...options }: ProgramOptions & { env: Record<string, string> },
): Program {
  const { cwd, nodeArgs = [], args = [], cgroup, within = [] } = options;
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  const file = path.resolve(import.meta.dirname, '../..', bundle);
  const command = [...within, process.execPath, ...nodeArgs, file, ...args];
  // Before Node starts, because Node reads the memory limit then.
  if (cgroup) command.unshift('sh', '-c', 'echo $$ > "$0" && exec "$@"', cgroup);
  const [first = '', ...others] = command;
  const guarded = startGuarded(first, others, {
    env: { PATH, HOME, ...(!cgroup && { NODE_COMPILE_CACHE }), ...env },
    output: 'pipe',
    ...(cwd && { cwd }),
  });
  const program = follow(guarded);
  // A command that runs the program, such as nsenter, doesn't take it along when it is killed.
  cleanUp(t, () => guarded.killAll());
  return program;
}

function follow(guarded: GuardedProcess): Program {
  const { child, pid, exited } = guarded;
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const program: Program = {
    pid,
    exited,
    get output() {
      return output;
    },
    waitForLog: (pattern, timeout) => {
      const ended = () => guarded.hasExited() && child.stdout?.readableEnded === true;
      return untilMatch(() => ({ output, ended: ended() }), pattern, timeout);
    },
    stop: (signal = 'SIGTERM') => {
      child.kill(signal);
      return exited;
    },
    kill: () => program.stop('SIGKILL'),
  };
  return program;
}

/** Waits until an output matches a pattern; fails with the output, at once if its program has ended. */
export async function untilMatch(
  read: () => { output: string; ended: boolean },
  pattern: RegExp,
  timeout = 120_000,
): Promise<RegExpMatchArray> {
  const describe = `output that matches ${pattern}`;
  const accept = ({ output, ended }: ReturnType<typeof read>) => pattern.test(output) || ended;
  const { output } = await until(read, { describe, timeout, interval: 10, accept });
  const match = output.match(pattern);
  if (!match) throw new Error(`The program ended before ${describe}. Its output:\n${output}`);
  return match;
}
