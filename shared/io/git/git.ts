import type { ChildProcess } from 'node:child_process';
import { TransientError } from '../../errors.ts';
import { proxiesOf } from '../http/no-proxy.ts';
import { credentialsOf, type GitAccess, gitEnvironment, sshCommand } from './git-environment.ts';
import { gitErrorOf, ownWords, withoutCredentials } from './git-error.ts';
import { endOf, startProcess } from './git-process.ts';

export interface GitOptions {
  cwd?: string;
  access?: GitAccess;
  /** More environment variables, for programs that git runs. */
  environment?: Record<string, string>;
  /** Standard input. */
  input?: string | Buffer | undefined;
  /** Timeout after which git and its children are killed (ms). */
  timeoutMs?: number;
  /** Maximum output (bytes); more is an error. */
  maxOutputBytes?: number;
  limits?: GitLimits;
  signal?: AbortSignal | undefined;
}

/** Limits of git and each of its helpers; exceeding one is an error. */
export interface GitLimits {
  memoryBytes?: number;
  /** Maximum size of a written file (bytes). */
  fileBytes?: number;
  /** Advice for the error about too little memory. */
  remedy?: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** Default for names and ids. Commands that list objects must specify their own. */
const DEFAULT_MAX_OUTPUT = 1024 * 1024;
const MAX_STDERR = 16 * 1024;
/** No hooks, no background processes, and 16 MiB for delta bases next to the objects in use. */
const SETTINGS = ['core.hooksPath=/dev/null', 'gc.auto=0', 'core.deltaBaseCacheLimit=16m'].flatMap((setting) => [
  '-c',
  setting,
]);
/** The last three give a user without a name one, which ssh requires. */
const INHERITED = ['PATH', 'TMPDIR', 'LD_PRELOAD', 'NSS_WRAPPER_PASSWD', 'NSS_WRAPPER_GROUP'];

/**
 * Runs git isolated from the machine's configuration, with only HTTP, HTTPS, ssh, and git as transports, and no hooks.
 */
export class Git {
  readonly #inherited: NodeJS.ProcessEnv;
  /** Only for access through a proxy, because it can contain a password. */
  readonly #proxy: NodeJS.ProcessEnv;
  /** Default limits of processes. */
  readonly limits: GitLimits | undefined;

  /** `environment` is the program's. Only PATH, proxy, TMPDIR, and user name are used. */
  constructor(environment: NodeJS.ProcessEnv, limits?: GitLimits) {
    this.limits = limits;
    this.#inherited = Object.fromEntries(
      INHERITED.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
    );
    this.#proxy = proxiesOf(environment);
  }

  /** Runs git and returns standard output. Throws {@link TerminalError} or {@link TransientError}. */
  async run(args: string[], options: GitOptions = {}): Promise<Buffer> {
    return Buffer.concat((await this.#finish(this.spawn(args, options), options)).stdout);
  }

  /** Runs git and returns the first 16 KiB of its messages. */
  async runForMessages(args: string[], options: GitOptions = {}): Promise<string> {
    return (await this.#finish(this.spawn(args, options), options)).stderr;
  }

  /** Runs a command on a host over ssh, as git does. Throws like {@link Git.run}. */
  async runBySsh(args: string[], options: GitOptions): Promise<Buffer> {
    const command = ['sh', '-c', `${sshCommand(options.access ?? {})} "$@"`, 'ssh', ...args];
    return Buffer.concat((await this.#finish(this.#start(command, options), options)).stdout);
  }

  async #finish(child: ChildProcess, options: GitOptions): Promise<Output> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxOutputBytes = DEFAULT_MAX_OUTPUT, signal } = options;
    let failure: Error | undefined;
    const fail = (error: Error) => {
      failure ??= error;
      // Even if git itself has ended, because a remaining helper would keep its output open.
      killProcesses(child);
      child.stdout?.destroy();
      child.stderr?.destroy();
    };
    const timer = setTimeout(() => fail(timeoutError(timeoutMs)), timeoutMs);
    const onAbort = () => fail(signal?.reason instanceof Error ? signal.reason : new Error('aborted'));
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    try {
      const output = collectOutput(child, maxOutputBytes, fail);
      child.stdin?.on('error', () => {});
      child.stdin?.end(options.input);
      const { code, problem } = await endOf(child);
      if (failure ?? problem) throw failure ?? problem;
      if (code !== 0) throw this.#errorOf(output.stderr, options);
      return output;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Starts git in a new process group, so that its helpers end with it. Throws like {@link startProcess}. */
  spawn(args: string[], options: Pick<GitOptions, 'cwd' | 'access' | 'environment' | 'limits'>): ChildProcess {
    return this.#start(['git', ...SETTINGS, ...args], options);
  }

  /** Returns the error for an exceeded limit, according to git's own output. */
  limitErrorOf(printed: string, limits = this.limits): TransientError | undefined {
    return limits && limitErrorOf(printed, limits);
  }

  #errorOf(stderr: string, { limits, access }: GitOptions): Error {
    const printed = withoutCredentials(stderr, access?.authorization?.value);
    return (
      this.limitErrorOf(ownWords(printed), limits) ??
      gitErrorOf(printed, { credentials: credentialsOf(access), user: access?.authorization?.user })
    );
  }

  #start(command: string[], { cwd, access = {}, environment, limits = this.limits }: GitOptions): ChildProcess {
    const [program = '', ...rest] = limits ? ['sh', '-c', limitScript(limits), 'sh', ...command] : command;
    const proxy = access.isProxied ? this.#proxy : {};
    const env = { ...this.#inherited, ...proxy, ...gitEnvironment(access), ...environment };
    return startProcess(program, rest, { cwd, env, detached: true });
  }
}

interface Output {
  stdout: Buffer[];
  stderr: string;
}

function collectOutput(child: ChildProcess, maxBytes: number, fail: (error: Error) => void): Output {
  const output: Output = { stdout: [], stderr: '' };
  let size = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes) fail(tooMuchOutput(maxBytes));
    else output.stdout.push(chunk);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    if (output.stderr.length < MAX_STDERR) output.stderr += chunk.toString('utf8');
  });
  return output;
}

/** Kills git and all processes that it started. */
export function killGroup(child: ChildProcess): void {
  if (child.exitCode === null) killProcesses(child);
}

function killProcesses(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    // biome-ignore lint/style/noRestrictedGlobals: nothing else can kill a whole group
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // the group has ended already
  }
}

/**
 * The shell expects kibibytes for memory and blocks of 512 bytes for files. A lower existing limit remains. With the
 * signal ignored, git reports a file that is too large instead of dying silently.
 */
function limitScript({ memoryBytes, fileBytes }: GitLimits): string {
  const memory = memoryBytes === undefined ? '' : `ulimit -d ${Math.floor(memoryBytes / 1024)} || :; `;
  const file = fileBytes === undefined ? '' : `trap '' XFSZ; ulimit -f ${Math.floor(fileBytes / 512)} || :; `;
  return `${memory}${file}exec "$@"`;
}

function limitErrorOf(stderr: string, { memoryBytes, remedy }: GitLimits): TransientError | undefined {
  const isFile = /File too large/.test(stderr);
  if (!isFile && !/out of memory|Cannot allocate memory|unable to create .*thread/i.test(stderr)) return undefined;
  const message =
    remedy && memoryBytes
      ? `git requires more than ${Math.floor(memoryBytes / 1024 ** 2)} MiB for the data from the git server; ${remedy}`
      : 'the git server sent more data than allowed; delete unused refs, or use a smaller repository';
  return new TransientError(message, {
    code: isFile ? 'git.fileTooLarge' : 'git.answerTooLarge',
    reason: 'GitAnswerTooLarge',
    cause: new Error(stderr.slice(0, 500)),
  });
}

const timeoutError = (timeoutMs: number) =>
  new TransientError(`git was stopped after ${timeoutMs / 1000} s; retrying`, {
    code: 'git.timeout',
    reason: 'GitTimeout',
  });

const tooMuchOutput = (limit: number) =>
  new TransientError(`the git server sent more than ${limit} bytes`, {
    code: 'git.tooMuchOutput',
    reason: 'GitAnswerTooLarge',
  });
