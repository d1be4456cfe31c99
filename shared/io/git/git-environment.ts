import type { SshHost } from '../../domain/git/repository.ts';
import { shellQuote } from '../../domain/text/shell-quote.ts';
import type { Credentials } from './refusals.ts';

/** Credentials and connection settings for git, passed only in files and the environment. */
export interface GitAccess {
  /** Value of an HTTP `Authorization` header, sent to `origin` alone, and its user for messages. */
  authorization?: { origin: string; value: string; user?: string | undefined } | undefined;
  /** The only CA bundle (PEM) to trust. */
  caFile?: string | undefined;
  sshKeyFile?: string | undefined;
  /** Trusted host keys. If omitted, ssh connects to no host. */
  knownHostsFile?: string | undefined;
  /** Accepts any host key, and ignores known_hosts. */
  ignoresHostKey?: boolean | undefined;
  /** Host that ssh connects to instead of the one in the URL. */
  sshHost?: SshHost | undefined;
  /** The only origin for HTTP and HTTPS. If omitted, neither is allowed. */
  origin?: string | undefined;
  /** Whether a proxy connects to that origin. If so, git gets its URL without exceptions. */
  isProxied?: boolean | undefined;
  /** Like `sshHost`, but for this origin in the format of `http.curloptResolve`: `HOST:PORT:ADDRESS,[ADDRESS]`. */
  resolve?: string | undefined;
  /** Replaces the beginning `from` of URLs with `to`. */
  rewrite?: { from: string; to: string } | undefined;
  /** Host name sent over git://, if the URL has an address. */
  virtualHost?: string | undefined;
}

/** Returns the kind of credentials that are sent to a host. */
export function credentialsOf({ authorization, sshKeyFile }: GitAccess = {}): Credentials {
  if (authorization) return 'token';
  return sshKeyFile ? 'sshKey' : 'none';
}

/** Returns variables that isolate git from the machine's configuration, and configure its access. */
export function gitEnvironment(access: GitAccess): NodeJS.ProcessEnv {
  const { authorization, caFile, origin, resolve, rewrite } = access;
  const config: [key: string, value: string][] = [
    ['safe.directory', '*'],
    ['core.fsmonitor', 'false'],
    ['protocol.version', '2'],
    // Git would send the header again to the target of a redirect.
    ['http.followRedirects', 'false'],
    // A server can name any URL for a pack. Git can't fetch it, because curl fails to read this.
    ['http.curloptResolve', 'nowhere'],
  ];
  // An empty value clears the list.
  if (origin) config.push([`http.${origin}/.curloptResolve`, '']);
  if (origin && resolve) config.push([`http.${origin}/.curloptResolve`, resolve]);
  if (authorization) {
    config.push([`http.${authorization.origin}/.extraHeader`, `Authorization: ${authorization.value}`]);
  }
  if (caFile) {
    config.push(['http.sslCAInfo', caFile]);
    // Debian's git would also trust the directory with the system's CAs.
    config.push(['http.sslCAPath', '/dev/null']);
  }
  if (rewrite) config.push([`url.${rewrite.to}.insteadOf`, rewrite.from]);
  const environment: Record<string, string> = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'http:https:ssh:git',
    GIT_SSH_COMMAND: sshCommand(access),
    // If a pack lacks an object, git would fetch from within the fetch, recursively without end.
    GIT_NO_LAZY_FETCH: '1',
    GIT_CONFIG_COUNT: String(config.length),
    LC_ALL: 'C',
  };
  if (access.virtualHost) environment.GIT_OVERRIDE_VIRTUAL_HOST = access.virtualHost;
  for (const [index, [key, value]] of config.entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return environment;
}

/** Returns the shell command that git runs for ssh. */
export function sshCommand({ sshKeyFile, knownHostsFile, ignoresHostKey, sshHost }: GitAccess): string {
  const options = ['-F', '/dev/null', '-o', 'BatchMode=yes'];
  options.push('-o', `ConnectTimeout=${sshHost?.connectSeconds ?? 10}`);
  // A silent connection ends after 30 s.
  options.push('-o', 'ServerAliveInterval=10', '-o', 'ServerAliveCountMax=3');
  if (sshKeyFile) options.push('-o', 'IdentitiesOnly=yes', '-i', shellQuote(sshKeyFile));
  const known = ignoresHostKey || !knownHostsFile ? '/dev/null' : shellQuote(knownHostsFile);
  options.push('-o', `StrictHostKeyChecking=${ignoresHostKey ? 'no' : 'yes'}`);
  options.push('-o', `UserKnownHostsFile=${known}`, '-o', 'GlobalKnownHostsFile=/dev/null');
  if (sshHost) {
    // ssh uses the first value of an option, so these override the host and port that git reads from the URL.
    options.push('-o', `HostName=${shellQuote(sshHost.address)}`, '-o', `Port=${sshHost.port}`);
    options.push('-o', `HostKeyAlias=${shellQuote(sshHost.alias)}`);
  }
  return ['ssh', ...options].join(' ');
}
