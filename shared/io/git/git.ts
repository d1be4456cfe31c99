import type { ChildProcess } from 'node:child_process';
import { TransientError } from '../../errors.ts';
import { proxiesOf } from '../http/no-proxy.ts';
import { credentialsOf, type GitAccess, gitEnvironment, sshCommand } from './git-environment.ts';
import { gitErrorOf, ownWords, withoutCredentials } from './git-error.ts';
import { endOf, startProcess } from './git-process.ts';

export interface GitOptions {
  cwd?: string;
  access?: GitAccess;
  /** Further variables, for what git calls. */
  environment?: Record<string, string>;
  /** Text for standard input. */
  input?: string | Buffer | undefined;
  /** Time before git and its children are killed, in milliseconds. */
  timeoutMs?: number;
  /** Output beyond this many bytes ends the run with an error. */
  maxOutputBytes?: number;
  limits?: GitLimits;
  signal?: AbortSignal | undefined;
}

/** What git and each of its helpers may use; beyond that they end with an error. */
export interface GitLimits {
  memoryBytes?: number;
  /** Largest file that it may write. */
  fileBytes?: number;
  /** What to do where that is not enough memory, for the error. */
  remedy?: string;
}

const DEFAULT_TIMEOUT_MS = 60_000;
/** Names and ids. A command that lists objects has to say how much that may be. */
const DEFAULT_MAX_OUTPUT = 1024 * 1024;
const MAX_STDERR = 16 * 1024;
/** No hooks, nothing in the background, and next to the objects that git works on 16 MiB of those that others are made from. */
const SETTINGS = ['core.hooksPath=/dev/null', 'gc.auto=0', 'core.deltaBaseCacheLimit=16m'].flatMap((setting) => [
  '-c',
  setting,
]);
/** With the last three a user without a name gets one, as ssh demands. */
const INHERITED = ['PATH', 'TMPDIR', 'LD_PRELOAD', 'NSS_WRAPPER_PASSWD', 'NSS_WRAPPER_GROUP'];

/**
 * Runs git apart from the machine's configuration, with transports limited to http, https, ssh and git, and hooks off.
 */
export class Git {
  readonly #inherited: NodeJS.ProcessEnv;
  /** For access by a proxy alone, since a password may be in it. */
  readonly #proxy: NodeJS.ProcessEnv;
  /** For all that is started without its own. */
  readonly limits: GitLimits | undefined;

  /**
   * `environment` is the program's own; only the way to the binaries, the proxy, TMPDIR and the user's name are taken
   * from it.
   */
  constructor(environment: NodeJS.ProcessEnv, limits?: GitLimits) {
    this.limits = limits;
    this.#inherited = Object.fromEntries(
      INHERITED.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
    );
    this.#proxy = proxiesOf(environment);
  }

  /** Runs to the end and gives standard output. Throws {@link TerminalError} or {@link TransientError}. */
  async run(args: string[], options: GitOptions = {}): Promise<Buffer> {
    return Buffer.concat((await this.#finish(this.spawn(args, options), options)).stdout);
  }

  /** The same, and gives what git printed as its messages, up to 16 KiB. */
  async runForMessages(args: string[], options: GitOptions = {}): Promise<string> {
    return (await this.#finish(this.spawn(args, options), options)).stderr;
  }

  /** Runs a command on a host by ssh, in the way that git does. Throws as {@link Git.run} does. */
  async runBySsh(args: string[], options: GitOptions): Promise<Buffer> {
    const command = ['sh', '-c', `${sshCommand(options.access ?? {})} "$@"`, 'ssh', ...args];
    return Buffer.concat((await this.#finish(this.#start(command, options), options)).stdout);
  }

  async #finish(child: ChildProcess, options: GitOptions): Promise<Output> {
    const { timeoutMs = DEFAULT_TIMEOUT_MS, maxOutputBytes = DEFAULT_MAX_OUTPUT, signal } = options;
    let failure: Error | undefined;
    const fail = (error: Error) => {
      failure ??= error;
      // Also where git itself has ended: a helper that is left would hold its output open.
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

  /** Starts git in its own process group, so that its helpers end with it. Throws what {@link startProcess} throws. */
  spawn(args: string[], options: Pick<GitOptions, 'cwd' | 'access' | 'environment' | 'limits'>): ChildProcess {
    return this.#start(['git', ...SETTINGS, ...args], options);
  }

  /** The error where git ended for want of what it may use, by what it printed itself. */
  limitErrorOf(printed: string, limits = this.limits): TransientError | undefined {
    return limits && limitErrorOf(printed, limits);
  }

  #errorOf(stderr: string, { limits, access }: GitOptions): Error {
    const printed = withoutCredentials(stderr, access?.authorization?.value);
    return this.limitErrorOf(ownWords(printed), limits) ?? gitErrorOf(printed, { credentials: credentialsOf(access) });
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

/** Ends git and all that it started. */
export function killGroup(child: ChildProcess): void {
  if (child.exitCode === null) killProcesses(child);
}

function killProcesses(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    // biome-ignore lint/style/noRestrictedGlobals: nothing else can kill a whole group
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL'); // the group is gone already
  }
}

/**
 * The shell takes kibibytes for memory and blocks of 512 bytes for files; a limit that is lower already stays. Without the
 * signal git says that a file is too large; by it, git would end without a message.
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
