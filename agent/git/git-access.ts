import { readFile } from 'node:fs/promises';
import {
  ASCII_HOST,
  authorizationOf,
  hasForeignHost,
  parseRepository,
  type Repository,
  sentUserOf,
} from '../../shared/domain/git/repository.ts';
import { beforeAbort } from '../../shared/domain/limits/before-abort.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import { explainExpiredCas } from '../../shared/io/git/expired-cas.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { untilConnected, withoutProxy } from '../../shared/io/git/unreachable.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { withExtraCas } from './extra-cas.ts';
import { findRepository, targetsOf } from './git-target.ts';
import { withSshKey } from './ssh-key.ts';

/** Mounted credentials for the git server, and the settings of connections to it. */
export interface AccessFiles {
  tokenFile: string | undefined;
  sshKeyFile: string | undefined;
  knownHostsFile: string | undefined;
  /** The only CAs to trust, if the resource specifies them. */
  caFile: string | undefined;
  /** CAs of the installation to trust in addition to the system's, unless there is a `caFile`; can be missing. */
  extraCaFile: string | undefined;
  /** Directory in memory for a private copy of the SSH key and a CA bundle during a fetch. */
  keyDirectory: string;
  /** The user that git runs as. */
  uid: number;
  /** Checks the addresses of connections. */
  http: GuardedHttp;
}

/** Source of a fetch. */
export interface GitSource {
  repo: string;
  /** Whether to trust an SSH server with any host key. */
  ignoresHostKey: boolean;
  /** Aborts all requests to servers, including name servers. */
  signal: AbortSignal;
}

/**
 * Reads the current credentials, resolves the address, and passes both to the function. Calls it again if the server
 * has moved the repository to another path. Copies are deleted afterwards.
 */
export async function withGitAccess<T>(
  source: GitSource,
  files: AccessFiles,
  run: (access: GitAccess) => Promise<T>,
): Promise<T> {
  const { caFile, extraCaFile, keyDirectory } = files;
  try {
    if (caFile || !extraCaFile) return await openAccess(source, files, run);
    return await withExtraCas({ file: extraCaFile, directory: keyDirectory }, (bundle) =>
      openAccess(source, { ...files, caFile: bundle }, run),
    );
  } catch (error) {
    const isProxyless = files.http.hasProxy && parseRepository(source.repo)?.transport === 'ssh';
    throw withRemedy(await aboutCas(isProxyless ? withoutProxy(error) : error, files));
  }
}

/** Explains an error if one of the configured CAs has expired. */
async function aboutCas(error: unknown, { caFile, extraCaFile }: AccessFiles): Promise<unknown> {
  const file = caFile ?? extraCaFile;
  const pem = file && (await readFile(file, 'utf8').catch(() => undefined));
  if (!pem) return error;
  const source = caFile ? 'the Secret named in spec.git.caSecretRef' : 'the ConfigMap of agent.caConfigMap';
  return explainExpiredCas(error, { pem, source, isOnly: caFile !== undefined });
}

/** Field of the resource whose change a pod can predate, by the reason of an error. */
const MOUNTED = new Map([
  ['AuthenticationFailed', 'spec.git.auth'],
  ['RepositoryNotFound', 'spec.git.auth'],
  ['CertificateNotTrusted', 'spec.git.caSecretRef'],
  ['HostKeyVerificationFailed', 'spec.git.auth.sshKey.knownHosts'],
]);

/** The server accepts the controller, which read the Secrets recently, so the pod most likely has older ones. */
function withRemedy(error: unknown): unknown {
  if (!(error instanceof TerminalError)) return error;
  const field = MOUNTED.get(error.reason);
  if (!field) return error;
  const { message, code, reason, cause } = error;
  const remedy = `Secrets are mounted when a pod is created: recreate the pod if it is older than ${field}`;
  return new TerminalError(`${message}; ${remedy}`, { code, reason, cause });
}

async function openAccess<T>(
  { repo, ignoresHostKey, signal }: GitSource,
  files: AccessFiles,
  run: (access: GitAccess) => Promise<T>,
): Promise<T> {
  const repository = parseRepository(repo);
  if (!repository) throw invalidRepository(repo);
  const { knownHostsFile, caFile, sshKeyFile, http } = files;
  if (repository.transport === 'ssh' && !knownHostsFile && !ignoresHostKey) throw knownHostsMissing();
  const authorization = await readAuthorization(repository, files.tokenFile);
  const common = { authorization, knownHostsFile, ignoresHostKey, caFile };
  if (repository.transport === 'ssh') {
    const targets = await beforeAbort(signal, targetsOf(repository, repo, http));
    const runWith = (key?: string) =>
      untilConnected(targets, (target) => run({ ...common, ...target, sshKeyFile: key }));
    if (!sshKeyFile) return await runWith();
    return await withSshKey(
      await readSecret(sshKeyFile),
      { file: sshKeyFile, directory: files.keyDirectory, uid: files.uid },
      runWith,
    );
  }
  try {
    const [target] = await beforeAbort(signal, targetsOf(repository, repo, http));
    return await run({ ...common, ...target });
  } catch (error) {
    if (!(error instanceof TerminalError && error.code === 'git.redirect')) throw error;
    const ca = caFile && (await readSecret(caFile));
    const url = await beforeAbort(signal, findRepository(repository.url, { authorization, ca, signal }, http));
    const [target] = await beforeAbort(signal, targetsOf({ ...repository, url }, repo, http));
    return await run({ ...common, ...target });
  }
}

/** Credentials are only for https, and only for the repository's origin. */
async function readAuthorization(
  repository: Repository,
  tokenFile: string | undefined,
): Promise<GitAccess['authorization']> {
  if (!tokenFile || !repository.url.startsWith('https://')) return undefined;
  const token = await readSecret(tokenFile);
  const { origin } = new URL(repository.url);
  return { origin, value: authorizationOf(repository, token), user: sentUserOf(repository, token) };
}

async function readSecret(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new TransientError(`the credentials for the git server cannot be read: ${cause.code ?? 'unknown error'}`, {
      code: 'git.credentials',
      reason: 'CredentialsMissing',
      cause,
    });
  });
}

const invalidRepository = (repo: string) =>
  new TerminalError(
    hasForeignHost(repo)
      ? `spec.git.repo is ambiguous: ${ASCII_HOST}`
      : "spec.git.repo isn't a URL that the agent supports",
    { code: 'git.url', reason: 'InvalidRepository' },
  );

const knownHostsMissing = () =>
  new TerminalError(
    'the SSH host keys are not mounted in this pod: specify them in spec.git.auth.sshKey.knownHosts, and recreate pods that are older than the change',
    { code: 'git.knownHostsMissing', reason: 'KnownHostsMissing' },
  );
