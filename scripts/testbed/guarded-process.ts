import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Socket } from 'node:net';

/** The end of a process: its own status or a signal. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** Options for a process. Output is appended to the file `log`, or goes to pipes of `child` or to our own terminal. */
export interface ProcessOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  output: { log: string } | 'pipe' | 'inherit';
}

/** A child process that can't outlive us. */
export interface GuardedProcess {
  child: ChildProcess;
  pid: number;
  exited: Promise<ProcessEnd>;
  hasExited(): boolean;
  /** Sends SIGTERM and, after a grace period in milliseconds (5,000), SIGKILL; resolves when the process is gone. */
  stop(graceMs?: number): Promise<ProcessEnd>;
  /** Kills the process with all that it started, even if it has exited; resolves when the process is gone. */
  killAll(): Promise<ProcessEnd>;
}

/**
 * The watcher holds the other end of a pipe from us, as its file descriptor 3. If we end, even by SIGKILL, the kernel
 * closes our end; a line means that the process ended first. `exec` gives the command the shell's own process id, so that
 * signals, exit status, and memory figures are the command's, and it never runs unwatched.
 */
const guard = `
(
  read -r _ <&3 && exit
  kill -KILL -$$
) >/dev/null 2>&1 &
exec "$@" 3<&-
`;

/** Starts a process in its own session, killed with its group as soon as we end, for any reason. */
export function startGuarded(command: string, args: string[], options: ProcessOptions): GuardedProcess {
  const { output } = options;
  const sink = typeof output === 'string' ? output : openSync(output.log, 'a');
  const child = spawn('/bin/sh', ['-c', guard, 'sh', command, ...args], {
    // Ctrl-C reaches the whole foreground group; in its own session, the watcher survives it.
    detached: true,
    env: options.env ?? process.env,
    ...(options.cwd && { cwd: options.cwd }),
    stdio: ['ignore', sink, sink, 'pipe'],
  });
  if (typeof sink === 'number') closeSync(sink);
  return describe(child, command);
}

function describe(child: ChildProcess, command: string): GuardedProcess {
  const { pid } = child;
  if (pid === undefined) throw new Error(`${command} could not be started: no /bin/sh`);
  const watcher = child.stdio[3] as Socket;
  const exited = new Promise<ProcessEnd>((resolve) => {
    child.once('exit', (code, signal) => {
      watcher.end('exited\n');
      resolve({ code, signal });
    });
  });
  watcher.on('error', () => {});
  // An owner without further work may end, which ends the process as well.
  watcher.unref();
  child.unref();
  const hasExited = () => child.exitCode !== null || child.signalCode !== null;
  return {
    child,
    pid,
    exited,
    hasExited,
    stop: async (graceMs = 5_000) => {
      child.ref();
      if (!hasExited()) child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
      return await exited.finally(() => clearTimeout(timer));
    },
    killAll: () => {
      child.ref();
      killGroup(pid);
      return exited;
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns the last lines of a log file, for error messages. */
export async function tailOf(file: string, lines = 20): Promise<string> {
  const content = await readFile(file, 'utf8').catch(() => '');
  return content.trimEnd().split('\n').slice(-lines).join('\n');
}
