import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { withoutTrailingSlashes } from '../../shared/domain/relative-path.ts';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git, GitAccess } from '../../shared/io/git/git.ts';
import type { LfsPointer } from './lfs-pointer.ts';

export interface LfsTransfer {
  repo: string;
  access: GitAccess;
  signal: AbortSignal | undefined;
}

/** Objects may be large: it is silence that ends a transfer, after half a minute. */
const TIMEOUT_MS = 3_600_000;
const SETTINGS = [
  'lfs.activityTimeout=30',
  'lfs.dialTimeout=10',
  'lfs.transfer.maxRetries=2',
  'lfs.basicTransfersOnly=true',
  'credential.helper=',
];
const WANTED = 'refs/heads/wanted';

/**
 * Fetches objects by git-lfs-fetch(1) into `<folder>/lfs/objects`, all in one go. git-lfs looks for pointers in a
 * commit: one that holds nothing but those that are wanted is made for it, in a repository of its own.
 */
export async function fetchLfsObjects(
  git: Git,
  { folder, pointers }: { folder: string; pointers: LfsPointer[] },
  { repo, access, signal }: LfsTransfer,
): Promise<void> {
  await emptyRepository(folder);
  await git.run(['init', '--quiet', '--bare', '--template=', folder]);
  const at = [`--git-dir=${folder}`];
  await git.run([...at, 'fast-import', '--quiet', '--done'], { input: commitOf(pointers) });
  const endpoint = lfsEndpoint(repo);
  const settings = [...SETTINGS, `remote.origin.url=${repo}`, ...(endpoint ? [`lfs.url=${endpoint}`] : [])];
  const args = [...settings.flatMap((setting) => ['-c', setting]), ...at, 'lfs', 'fetch', 'origin', WANTED];
  await git.run(args, { access, signal, timeoutMs: TIMEOUT_MS }).catch((error) => {
    throw explain(error);
  });
}

/** The host of the repository is there, and the content is not. */
export const lfsObjectNotFound = (cause?: unknown): TerminalError =>
  new TerminalError(
    'the Git LFS server does not have the content of a mapped file: has it been pushed (git lfs push)?',
    {
      code: 'lfs.objectNotFound',
      reason: 'LfsObjectNotFound',
      cause,
    },
  );

/** Leaves the objects that were fetched. */
async function emptyRepository(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const names = (await readdir(folder)).filter((name) => name !== 'lfs');
  await Promise.all(names.map((name) => rm(join(folder, name), { recursive: true, force: true })));
}

/** A commit of all pointers, in the language of git-fast-import(1). */
function commitOf(pointers: LfsPointer[]): string {
  const files = pointers.map(({ oid, size }) => {
    const text = `version https://git-lfs.github.com/spec/v1\noid sha256:${oid}\nsize ${size}\n`;
    return `M 100644 inline ${oid}\ndata ${text.length}\n${text}\n`;
  });
  return `commit ${WANTED}\ncommitter sync-agent <> 0 +0000\ndata 0\n\n${files.join('')}done\n`;
}

/** Where git-lfs says something else than git does. */
function explain(error: unknown): unknown {
  if (error instanceof TerminalError && error.code === 'git.repositoryNotFound') {
    return new TerminalError(
      'mapped files are kept in Git LFS, and the git host has no Git LFS for the repository, or hides it: only pointers would be delivered',
      { code: 'lfs.noServer', reason: 'LfsUnavailable', cause: error },
    );
  }
  if (!(error instanceof TransientError) || error.code !== 'git.unreachable') return error;
  const complaint = String(error.cause);
  if (/is not a git command/.test(complaint)) {
    return new TerminalError(
      'mapped files are kept in Git LFS, and the image of the agent has no git-lfs: use one that has, or exclude them',
      { code: 'lfs.notInstalled', reason: 'LfsNotSupported', cause: error },
    );
  }
  if (/authentication required|authorization error|credentials|\b40[13]\b/i.test(complaint)) {
    return new TerminalError('the Git LFS server refused the credentials: check the Secret named in spec.git.auth', {
      code: 'lfs.authentication',
      reason: 'AuthenticationFailed',
      cause: error,
    });
  }
  if (/does not exist on the server|object not found|\[404\]/i.test(complaint)) return lfsObjectNotFound(error);
  return error;
}

/**
 * The Git LFS server that belongs to a repository over http or https, by the rule of git-lfs. A `.lfsconfig` in the
 * repository has no say: it could send credentials elsewhere. Undefined for other transports, where the host is asked.
 */
export function lfsEndpoint(repo: string): string | undefined {
  if (!/^https?:\/\//.test(repo)) return undefined;
  const url = withoutTrailingSlashes(repo);
  return `${url}${url.endsWith('.git') ? '' : '.git'}/info/lfs`;
}
