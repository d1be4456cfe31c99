import type { SshHost } from '../../domain/repository.ts';
import type { Credentials } from './refusals.ts';

/** How git gets in, by files and environment only. */
export interface GitAccess {
  /** Value of an HTTP `Authorization` header, sent to `origin` alone. */
  authorization?: { origin: string; value: string } | undefined;
  /** CA bundle (PEM) to trust, and nothing else. */
  caFile?: string | undefined;
  sshKeyFile?: string | undefined;
  /** Host keys to trust. Without it no host is talked to by ssh. */
  knownHostsFile?: string | undefined;
  /** Talks to whoever answers by ssh, and looks at no known_hosts. */
  ignoresHostKey?: boolean | undefined;
  /** Where ssh connects to, whatever the URL says. */
  sshHost?: SshHost | undefined;
  /** The only origin that is talked to by http and https; without it none is. */
  origin?: string | undefined;
  /** Whether a proxy connects to that origin: git gets its URL, and no exceptions. */
  isProxied?: boolean | undefined;
  /** The same as `sshHost` for this origin, as `http.curloptResolve` has it: `HOST:PORT:ADDRESS,[ADDRESS]`. */
  resolve?: string | undefined;
  /** URLs that begin like `from` are taken to begin like `to`. */
  rewrite?: { from: string; to: string } | undefined;
  /** The name by which a host of git:// is called, where the URL has an address. */
  virtualHost?: string | undefined;
}

/** What a host gets to see of it. */
export function credentialsOf({ authorization, sshKeyFile }: GitAccess = {}): Credentials {
  if (authorization) return 'token';
  return sshKeyFile ? 'sshKey' : 'none';
}

/** Variables that keep git apart from the machine's configuration, and let it in where it may go. */
export function gitEnvironment(access: GitAccess): NodeJS.ProcessEnv {
  const { authorization, caFile, origin, resolve, rewrite } = access;
  const config: [key: string, value: string][] = [
    ['safe.directory', '*'],
    ['core.fsmonitor', 'false'],
    ['protocol.version', '2'],
    // Git sends the header again to wherever a redirect leads.
    ['http.followRedirects', 'false'],
    // Git goes to any URL that a host names for a pack, unasked: curl connects to none, since it cannot read this.
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
    // Debian's git would trust the folder with the system's CAs as well.
    config.push(['http.sslCAPath', '/dev/null']);
  }
  if (rewrite) config.push([`url.${rewrite.to}.insteadOf`, rewrite.from]);
  const environment: Record<string, string> = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'http:https:ssh:git',
    GIT_SSH_COMMAND: sshCommand(access),
    // A pack that lacks an object would have git fetch from within the fetch, and so on without end.
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

/** The command by which git calls ssh, for a shell. */
export function sshCommand({ sshKeyFile, knownHostsFile, ignoresHostKey, sshHost }: GitAccess): string {
  const options = ['-F', '/dev/null', '-o', 'BatchMode=yes'];
  options.push('-o', `ConnectTimeout=${sshHost?.connectSeconds ?? 10}`);
  // A connection that went silent ends after half a minute.
  options.push('-o', 'ServerAliveInterval=10', '-o', 'ServerAliveCountMax=3');
  if (sshKeyFile) options.push('-o', 'IdentitiesOnly=yes', '-i', shellQuote(sshKeyFile));
  const known = ignoresHostKey || !knownHostsFile ? '/dev/null' : shellQuote(knownHostsFile);
  options.push('-o', `StrictHostKeyChecking=${ignoresHostKey ? 'no' : 'yes'}`);
  options.push('-o', `UserKnownHostsFile=${known}`, '-o', 'GlobalKnownHostsFile=/dev/null');
  if (sshHost) {
    // What ssh is told first counts, so the host and the port that git reads in the URL do not.
    options.push('-o', `HostName=${shellQuote(sshHost.address)}`, '-o', `Port=${sshHost.port}`);
    options.push('-o', `HostKeyAlias=${shellQuote(sshHost.alias)}`);
  }
  return ['ssh', ...options].join(' ');
}

const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
