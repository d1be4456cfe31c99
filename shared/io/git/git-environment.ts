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
  /** Where ssh connects to, whatever the URL says; `alias` is the host's name in known_hosts. */
  sshHost?: { address: string; port: number; alias: string } | undefined;
  /** The same for http and https, as `http.curloptResolve` has it: `HOST:PORT:ADDRESS`. */
  resolve?: string | undefined;
  /** URLs that begin like `from` are taken to begin like `to`. */
  rewrite?: { from: string; to: string } | undefined;
  /** The name by which a host of git:// is called, where the URL has an address. */
  virtualHost?: string | undefined;
}

/** Variables that keep git apart from the machine's configuration, and let it in where it may go. */
export function gitEnvironment(access: GitAccess): NodeJS.ProcessEnv {
  const config: Record<string, string> = {
    'safe.directory': '*',
    'core.fsmonitor': 'false',
    'protocol.version': '2',
    // Git sends the header again to wherever a redirect leads.
    'http.followRedirects': 'false',
  };
  if (access.authorization) {
    config[`http.${access.authorization.origin}/.extraHeader`] = `Authorization: ${access.authorization.value}`;
  }
  if (access.caFile) {
    config['http.sslCAInfo'] = access.caFile;
    // Debian's git would trust the folder with the system's CAs as well.
    config['http.sslCAPath'] = '/dev/null';
  }
  if (access.resolve) config['http.curloptResolve'] = access.resolve;
  if (access.rewrite) config[`url.${access.rewrite.to}.insteadOf`] = access.rewrite.from;
  const environment: Record<string, string> = {
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: 'http:https:ssh:git',
    GIT_SSH_COMMAND: sshCommand(access),
    ...(access.virtualHost && { GIT_OVERRIDE_VIRTUAL_HOST: access.virtualHost }),
    GIT_CONFIG_COUNT: String(Object.keys(config).length),
    LC_ALL: 'C',
  };
  for (const [index, [key, value]] of Object.entries(config).entries()) {
    environment[`GIT_CONFIG_KEY_${index}`] = key;
    environment[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return environment;
}

/** The command by which git calls ssh, for a shell. */
export function sshCommand({ sshKeyFile, knownHostsFile, ignoresHostKey, sshHost }: GitAccess): string {
  const options = ['-F', '/dev/null', '-o', 'BatchMode=yes', '-o', 'ConnectTimeout=10'];
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
