import { readFile, stat } from 'node:fs/promises';
import { beforeAbort } from '../../shared/domain/before-abort.ts';
import {
  ASCII_HOST,
  authorizationOf,
  hasForeignHost,
  parseRepository,
  type Repository,
} from '../../shared/domain/repository.ts';
import { isTyped, TerminalError, TransientError } from '../../shared/errors.ts';
import { explainExpiredCas } from '../../shared/io/git/expired-cas.ts';
import type { GitAccess } from '../../shared/io/git/git-environment.ts';
import { untilConnected, withoutProxy } from '../../shared/io/git/unreachable.ts';
import type { GuardedHttp } from '../../shared/io/http/guarded-http.ts';
import { withExtraCas } from './extra-cas.ts';
import { findRepository, targetsOf } from './git-target.ts';
import { withSshKey } from './ssh-key.ts';

/** Where the credentials of the git host are mounted, and how it is reached. */
export interface AccessFiles {
  tokenFile: string | undefined;
  sshKeyFile: string | undefined;
  knownHostsFile: string | undefined;
  /** CAs to trust and no others, which a resource names. */
  caFile: string | undefined;
  /** CAs of the installation to trust in addition to the system's, unless there is a `caFile`; may be missing. */
  extraCaFile: string | undefined;
  /** Folder in memory, where a private copy of the SSH key and a bundle of CAs may lie for the time of a fetch. */
  keyFolder: string;
  /** The user that git runs as. */
  uid: number;
  /** Says which addresses may be connected to. */
  http: GuardedHttp;
}

/** What to fetch from. */
export interface GitSource {
  repo: string;
  /** Whether the host of an ssh repository is trusted whatever key it has. */
  ignoresHostKey: boolean;
  /** Ends whatever asks a host, or a name server. */
  signal: AbortSignal;
}

/**
 * Reads the credentials as they are now, looks up where to connect to, and gives both to the function; a second time
 * where the host turns out to have moved the repository within itself. What had to be copied is gone afterwards.
 */
export async function withGitAccess<T>(
  source: GitSource,
  files: AccessFiles,
  run: (access: GitAccess) => Promise<T>,
): Promise<T> {
  const { caFile, extraCaFile, keyFolder } = files;
  try {
    if (caFile || !extraCaFile) return await openAccess(source, files, run);
    return await withExtraCas({ file: extraCaFile, folder: keyFolder }, (bundle) =>
      openAccess(source, { ...files, caFile: bundle }, run),
    );
  } catch (error) {
    const isProxyless = files.http.hasProxy && parseRepository(source.repo)?.transport === 'ssh';
    throw withRemedy(await aboutCas(isProxyless ? withoutProxy(error) : error, files));
  }
}

/** One of the CAs that were given may have expired. */
async function aboutCas(error: unknown, { caFile, extraCaFile }: AccessFiles): Promise<unknown> {
  const file = caFile ?? extraCaFile;
  const pem = file && (await readFile(file, 'utf8').catch(() => undefined));
  if (!pem) return error;
  const source = caFile ? 'the Secret named in spec.git.caSecretRef' : 'the ConfigMap of agent.caConfigMap';
  return explainExpiredCas(error, { pem, source, isOnly: caFile !== undefined });
}

/** What of the resource a pod may be older than, by the reason of a refusal. */
const MOUNTED = new Map([
  ['AuthenticationFailed', 'spec.git.auth'],
  ['RepositoryNotFound', 'spec.git.auth'],
  ['CertificateNotTrusted', 'spec.git.caSecretRef'],
  ['HostKeyVerificationFailed', 'spec.git.auth.sshKey.knownHosts'],
]);

/** The host lets the controller in, which read the Secrets a moment ago: most likely the pod has other ones. */
function withRemedy(error: unknown): unknown {
  if (!(error instanceof TerminalError)) return error;
  const field = MOUNTED.get(error.reason);
  if (!field) return error;
  const { message, code, reason, cause } = error;
  const remedy = `Secrets are mounted when a pod is created: recreate the pod if it is older than ${field}`;
  return new TerminalError(`${message}; ${remedy}`, { code, reason, cause });
}

/** Whether other files may help, with credentials or with what is trusted. */
export const isAboutAccess = (error: unknown): boolean =>
  isTyped(error) && (MOUNTED.has(error.reason) || ['CredentialsMissing', 'UnexpectedRedirect'].includes(error.reason));

/** What differs once one of the files is another one, or has come or gone: the kubelet replaces them as a whole. */
export async function stampOf(files: AccessFiles): Promise<string> {
  const given = [files.tokenFile, files.sshKeyFile, files.knownHostsFile, files.caFile, files.extraCaFile];
  const stamps = given
    .flatMap((file) => file ?? [])
    .map(async (file) => {
      const found = await stat(file).catch(() => undefined); // who reads it says what is wrong with it
      return found && `${found.dev} ${found.ino} ${found.mtimeMs} ${found.size}`;
    });
  return (await Promise.all(stamps)).join();
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
      { file: sshKeyFile, folder: files.keyFolder, uid: files.uid },
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

/** Credentials are for https alone, and for the repository's own origin alone. */
async function readAuthorization(
  repository: Repository,
  tokenFile: string | undefined,
): Promise<GitAccess['authorization']> {
  if (!tokenFile || !repository.url.startsWith('https://')) return undefined;
  const token = await readSecret(tokenFile);
  return { origin: new URL(repository.url).origin, value: authorizationOf(repository, token) };
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
