import { type ChildProcess, spawn } from 'node:child_process';
import { TransientError } from '../../errors.ts';
import { gitErrorOf } from './git-error.ts';

/** How git gets in, by files and environment only. */
export interface GitAccess {
  /** Value of an HTTP `Authorization` header, sent to `origin` alone. */
  authorization?: { origin: string; value: string } | undefined;
  /** CA bundle (PEM) to trust beside nothing else. */
  caFile?: string | undefined;
  sshKeyFile?: string | undefined;
  /** Host keys to trust. Without it no host is talked to by ssh. */
  knownHostsFile?: string | undefined;
  /** Talks to whoever answers by ssh, and looks at no known_hosts. */
  ignoresHostKey?: boolean | undefined;
  /** Where ssh connects to, whatever the URL says; `alias` is the host's name in known_hosts. */
  sshHost?: { address: string; alias: string } | undefined;
}

export interface GitOptions {
  cwd?: string;
  access?: GitAccess;
  /** Further variables, for what git calls. */
  environment?: Record<string, string>;
  /** Text for standard input. */
  input?: string | Buffer;
  /** Time before git and its children are killed, in milliseconds. */
  timeoutMs?: number;
  /** Output beyond this many bytes ends the run with an error. */
  maxOutputBytes?: number;
  limits?: GitLimits;
  signal?: AbortSignal | undefined;
}

/** What git and each of its helpers may use; beyond that they end with an error. */
export interface GitLimits {
  memoryBytes: number;
  fileBytes: number;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const DEFAULT_MAX_OUTPUT = 64 * 1024 * 1024;
const MAX_STDERR = 16 * 1024;
const PROXY = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
/** With the last three a user without a name gets one, as ssh demands. */
const INHERITED = ['PATH', 'TMPDIR', ...PROXY, 'LD_PRELOAD', 'NSS_WRAPPER_PASSWD', 'NSS_WRAPPER_GROUP'];

/**
 * Runs git apart from the machine's configuration, with transports limited to http, https, ssh and git, and hooks off.
 */
export class Git {
  readonly #inherited: NodeJS.ProcessEnv;

  /** `environment` is the program's own; only the way to the binaries, the proxy, TMPDIR and the user's name are taken from it. */
  constructor(environment: NodeJS.ProcessEnv) {
    this.#inherited = Object.fromEntries(
      INHERITED.flatMap((name) => (environment[name] ? [[name, environment[name]]] : [])),
    );
  }

  /** Runs to the end and gives standard output. Throws {@link TerminalError} or {@link TransientError}. */
  async run(args: string[], options: GitOptions = {}): Promise<Buffer> {
    const child = this.spawn(args, options);
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
      const code = await exitOf(child);
      if (failure) throw failure;
      if (code !== 0) throw (options.limits && limitErrorOf(output.stderr)) || gitErrorOf(output.stderr);
      return Buffer.concat(output.stdout);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  /** Starts git in a process group of its own, so that its helpers end with it. */
  spawn(args: string[], options: Pick<GitOptions, 'cwd' | 'access' | 'environment' | 'limits'>): ChildProcess {
    const { cwd, access = {}, environment, limits } = options;
    const command = ['git', '-c', 'core.hooksPath=/dev/null', '-c', 'gc.auto=0', ...args];
    const [program = '', ...rest] = limits ? ['sh', '-c', limitScript(limits), 'sh', ...command] : command;
    return spawn(program, rest, {
      cwd,
      env: { ...this.#inherited, ...gitEnvironment(access), ...environment },
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
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

function exitOf(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
}

function gitEnvironment(access: GitAccess): NodeJS.ProcessEnv {
  const config: Record<string, string> = { 'safe.directory': '*', 'core.fsmonitor': 'false', 'protocol.version': '2' };
  if (access.authorization) {
    config[`http.${access.authorization.origin}/.extraHeader`] = `Authorization: ${access.authorization.value}`;
  }
  if (access.caFile) config['http.sslCAInfo'] = access.caFile;
  const environment: Record<string, string> = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'http:https:ssh:git',
    GIT_SSH_COMMAND: sshCommand(access),
    GIT_CONFIG_COUNT: String(Object.keys(config).length),
    LC_ALL: 'C',
  };
  for (const [index, [key, value]] of Object.entries(config).entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return environment;
}

function sshCommand({ sshKeyFile, knownHostsFile, ignoresHostKey, sshHost }: GitAccess): string {
  const options = ['-F', '/dev/null', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10'];
  // A connection that went silent ends after half a minute.
  options.push('-o', 'ServerAliveInterval=10', '-o', 'ServerAliveCountMax=3');
  if (sshKeyFile) options.push('-o', 'IdentitiesOnly=yes', '-i', shellQuote(sshKeyFile));
  const known = ignoresHostKey || !knownHostsFile ? '/dev/null' : shellQuote(knownHostsFile);
  options.push('-o', `StrictHostKeyChecking=${ignoresHostKey ? 'no' : 'yes'}`);
  options.push('-o', `UserKnownHostsFile=${known}`, '-o', 'GlobalKnownHostsFile=/dev/null');
  if (sshHost) {
    options.push('-o', `HostName=${shellQuote(sshHost.address)}`, '-o', `HostKeyAlias=${shellQuote(sshHost.alias)}`);
  }
  return ['ssh', ...options].join(' ');
}

const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** The shell takes kibibytes for memory and blocks of 512 bytes for files; a limit that is lower already stays. */
const limitScript = ({ memoryBytes, fileBytes }: GitLimits) =>
  `ulimit -d ${memoryBytes / 1024} || :; ulimit -f ${fileBytes / 512} || :; exec "$@"`;

function limitErrorOf(stderr: string): TransientError | undefined {
  const isFile = /died of signal 25|File too large/.test(stderr);
  if (!isFile && !/out of memory|unable to create .*thread/i.test(stderr)) return undefined;
  return new TransientError(
    'the git host sent more than git may keep: delete refs that nobody needs, or use a smaller repository',
    { code: isFile ? 'git.fileTooLarge' : 'git.answerTooLarge', reason: 'GitAnswerTooLarge' },
  );
}

const timeoutError = (timeoutMs: number) =>
  new TransientError(`git took longer than ${timeoutMs / 1000} s and was stopped: it is tried again`, {
    code: 'git.timeout',
    reason: 'GitTimeout',
  });

const tooMuchOutput = (limit: number) =>
  new TransientError(`the git host sent more than ${limit} bytes`, {
    code: 'git.tooMuchOutput',
    reason: 'GitAnswerTooLarge',
  });
