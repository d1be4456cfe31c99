import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { GitServerOptions } from '../../../scripts/testbed/git-server.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startSshServer } from '../../support/ssh-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { startGithubApi } from './start-github-api.ts';

/** A credential that a server accepts or refuses, and the resource that uses it. */
export interface CredentialCase {
  /** Name of the resource and of its Secret. */
  name: string;
  git: { repo: string; auth: object; caSecretRef?: object };
  data: Record<string, string>;
  /** A value that only the server should receive. */
  secret: string;
  /** Final reason of the condition RefResolved. */
  reason: 'Resolved' | 'AuthenticationFailed';
}

type Reason = CredentialCase['reason'];

/** A value that can be recognized everywhere. */
export const randomSecret = (kind: string): string => `${kind}${randomBytes(18).toString('hex')}`;

/**
 * A token sent with basic authentication and one sent unchanged, which a server accepts, and others that it refuses.
 */
export async function tokenCases(t: TestContext): Promise<CredentialCase[]> {
  const basic = randomSecret('basic');
  const bearer = randomSecret('bearer');
  const byBasic = await serveGit(t, { username: 'x-access-token', password: basic });
  const byBearer = await serveGit(t, { token: bearer });
  const tokenCase = (name: string, host: GitHost, { secret, prefix = '' }: { secret: string; prefix?: string }) => {
    const reason: Reason = secret === basic || secret === bearer ? 'Resolved' : 'AuthenticationFailed';
    const auth = { token: { secretRef: { name, key: 'token' } } };
    const git = { repo: host.url, auth, caSecretRef: { name, key: 'ca' } };
    return { name, git, secret, reason, data: { token: `${prefix}${secret}\n`, ca: host.ca } };
  };
  return [
    tokenCase('basic-right', byBasic, { secret: basic }),
    tokenCase('basic-wrong', byBasic, { secret: randomSecret('wrong') }),
    tokenCase('bearer-right', byBearer, { secret: bearer, prefix: 'Bearer ' }),
    tokenCase('bearer-wrong', byBearer, { secret: randomSecret('wrong'), prefix: 'Bearer ' }),
  ];
}

/** The valid key of a GitHub App and an invalid one; `secrets` also gets the tokens issued for them. */
export async function appCases(t: TestContext): Promise<{ cases: CredentialCase[]; secrets: () => string[] }> {
  const minted = randomSecret('ghs_');
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const foreign = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const api = await startGithubApi(t, publicKey, { mint: () => minted });
  const host = await serveGit(t, { username: 'x-access-token', password: minted });
  const keyCase = (name: string, key: typeof privateKey, reason: Reason): CredentialCase => {
    const secret = key.export({ type: 'pkcs8', format: 'pem' }).toString();
    const ids = { appId: 7, installationId: 42, apiBaseURL: api.url };
    const auth = { githubApp: { ...ids, privateKeySecretRef: { name, key: 'pem' } } };
    const git = { repo: host.url, auth, caSecretRef: { name, key: 'ca' } };
    return { name, git, secret, reason, data: { pem: secret, ca: `${api.ca}\n${host.ca}` } };
  };
  return {
    cases: [
      keyCase('app-right', privateKey, 'Resolved'),
      keyCase('app-wrong', foreign.privateKey, 'AuthenticationFailed'),
    ],
    secrets: () => [minted, ...api.jwts],
  };
}

/** An SSH key that a server knows, and one that it doesn't know. */
export async function sshCases(t: TestContext): Promise<CredentialCase[]> {
  const server = await startSshServer();
  t.after(() => server.stop());
  const repository = await server.createRepository('app');
  await repository.commit({ files: { 'config/a': '1' } });
  const directory = await temporaryDirectory(t, 'keys-');
  const foreign = path.join(directory, 'stranger');
  await runCommand('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', foreign]);
  const fileCase = async (name: string, file: string, reason: Reason): Promise<CredentialCase> => {
    const secret = await readFile(file, 'utf8');
    const sshKey = { secretRef: { name, key: 'key' }, knownHosts: { secretRef: { name, key: 'hosts' } } };
    const git = { repo: repository.url, auth: { sshKey } };
    return { name, git, secret, reason, data: { key: secret, hosts: server.knownHosts } };
  };
  return [
    await fileCase('ssh-right', server.keyFile, 'Resolved'),
    await fileCase('ssh-wrong', foreign, 'AuthenticationFailed'),
  ];
}

interface GitHost {
  /** URL of the repository. */
  url: string;
  ca: string;
}

async function serveGit(t: TestContext, credentials: NonNullable<GitServerOptions['credentials']>): Promise<GitHost> {
  const { server, repository } = await serveRepository(t, { tls: true, credentials });
  return { url: repository.url, ca: await readFile(server.caFile ?? '', 'utf8') };
}
