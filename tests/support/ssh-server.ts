import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import path from 'node:path';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { createBareRepository, type GitRepository } from '../../scripts/testbed/git-repository.ts';
import { isExecutable } from '../../scripts/testbed/is-executable.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { startDaemon } from './start-daemon.ts';

/** Path of the OpenSSH server in distributions. */
const SSHD = '/usr/sbin/sshd';

/** Reason to skip a test with a real SSH server; false if it can run. */
export const skipWithoutSshd = !isExecutable(SSHD) && `needs the OpenSSH server, but ${SSHD} doesn't exist`;

/** Real git over SSH. */
export interface SshServer {
  /** Private key that the server accepts. */
  keyFile: string;
  /** Line for known_hosts. */
  knownHosts: string;
  createRepository(name: string): Promise<GitRepository>;
  stop(): Promise<void>;
}

/**
 * Starts sshd(8) on a free loopback port, for the current user, with a new host key and user key, and with
 * additional settings of sshd_config(5).
 */
export async function startSshServer(further: Record<string, string> = {}): Promise<SshServer> {
  const directory = await makeTemporaryDirectory('sshd-');
  const file = (name: string) => path.join(directory.path, name);
  const port = await freePort();
  for (const name of ['host', 'user']) {
    await runCommand('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', name, '-f', file(name)]);
  }
  await writeFile(file('authorized_keys'), await readFile(file('user.pub')), { mode: 0o600 });
  await chmod(directory.path, 0o755);
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true });
  const settings = {
    ListenAddress: '127.0.0.1',
    Port: port,
    HostKey: file('host'),
    AuthorizedKeysFile: file('authorized_keys'),
    PidFile: 'none',
    UsePAM: 'no',
    StrictModes: 'no',
    PasswordAuthentication: 'no',
    LogLevel: 'VERBOSE',
    ...further,
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} ${value}`);
  await writeFile(file('sshd_config'), `${lines.join('\n')}\n`);
  const stop = await startDaemon(SSHD, ['-D', '-e', '-f', file('sshd_config')], { port, directory });
  const base = `ssh://${userInfo().username}@127.0.0.1:${port}${directory.path}`;
  const hostKey = (await readFile(file('host.pub'), 'utf8')).trim();
  return {
    keyFile: file('user'),
    knownHosts: `[127.0.0.1]:${port} ${hostKey}\n`,
    createRepository: (name) => createBareRepository(directory.path, name, base),
    stop,
  };
}
