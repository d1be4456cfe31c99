import { open, readFile, rm } from 'node:fs/promises';
import { authorizationOf, parseRepository, type Repository } from '../../shared/domain/repository.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { GitAccess } from '../../shared/io/git/git.ts';

/** Where the credentials of the git host are mounted. */
export interface AccessFiles {
  tokenFile: string | undefined;
  sshKeyFile: string | undefined;
  knownHostsFile: string | undefined;
  caFile: string | undefined;
  /** Where a private copy of the SSH key may lie for the time of a fetch. */
  sshKeyCopy: string;
}

/** What to fetch from. */
export interface GitSource {
  repo: string;
  /** Whether the host of an ssh repository is trusted whatever key it has. */
  ignoresHostKey: boolean;
}

/** Reads the credentials as they are now, and gives them to the function. What it had to copy is gone afterwards. */
export async function withGitAccess<T>(
  { repo, ignoresHostKey }: GitSource,
  files: AccessFiles,
  run: (access: GitAccess) => Promise<T>,
): Promise<T> {
  const { knownHostsFile, caFile } = files;
  const repository = parseRepository(repo);
  if (!repository) throw invalidRepository();
  if (repository.transport === 'ssh' && !knownHostsFile && !ignoresHostKey) throw knownHostsMissing();
  try {
    const authorization = await readAuthorization(repository, files.tokenFile);
    const sshKeyFile = files.sshKeyFile && (await copyKey(files.sshKeyFile, files.sshKeyCopy));
    return await run({ authorization, sshKeyFile, knownHostsFile, ignoresHostKey, caFile });
  } finally {
    if (files.sshKeyFile) await rm(files.sshKeyCopy, { force: true });
  }
}

/** Credentials are for https alone, and for the repository's own origin alone. */
async function readAuthorization(
  { url, host }: Repository,
  tokenFile: string | undefined,
): Promise<GitAccess['authorization']> {
  if (!tokenFile || !url.startsWith('https://')) return undefined;
  const token = await readSecret(tokenFile);
  return { origin: new URL(url).origin, value: authorizationOf(host, token) };
}

/** Ssh refuses a key that others may read, as a mounted Secret often is, and one without a final line feed. */
async function copyKey(from: string, to: string): Promise<string> {
  const key = (await readSecret(from)).trimEnd();
  await rm(to, { force: true });
  const handle = await open(to, 'wx', 0o600);
  try {
    await handle.writeFile(`${key}\n`);
  } finally {
    await handle.close();
  }
  return to;
}

async function readSecret(file: string): Promise<string> {
  return await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new TransientError(`the credentials of the git host cannot be read: ${cause.code ?? 'unknown error'}`, {
      code: 'git.credentials',
      reason: 'CredentialsMissing',
      cause,
    });
  });
}

const invalidRepository = () =>
  new TerminalError('spec.git.repo is no URL that the agent knows', { code: 'git.url', reason: 'InvalidRepository' });

const knownHostsMissing = () =>
  new TerminalError(
    'the keys of the ssh host are not in this pod: name them in spec.git.auth.sshKey.knownHosts, and recreate pods that are older than that',
    { code: 'git.knownHostsMissing', reason: 'KnownHostsMissing' },
  );
