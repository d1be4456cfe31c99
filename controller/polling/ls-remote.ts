import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isTyped, TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git, GitLimits } from '../../shared/io/git/git.ts';
import { credentialsOf, type GitAccess } from '../../shared/io/git/git-environment.ts';
import { Pacer } from '../../shared/io/pacer.ts';
import { reportedError, tooManyRefsForGit } from './host-errors.ts';
import { CALL_TIMEOUT_MS } from './host-limiter.ts';
import type { FoundRefs } from './query-result.ts';
import { prefixesToSend, type RefQuery, WantedRefs } from './ref-query.ts';

const MIB = 1024 * 1024;
/**
 * Limits of a git process: it keeps every ref that a host sends, in three times the bytes received. Two at a time have to
 * fit into a container of 128 MiB, of which the controller itself has needed up to 86.
 */
const LIMITS: GitLimits = { memoryBytes: 20 * MIB, fileBytes: 32 * MIB };
const MAX_OUTPUT_BYTES = 4 * MIB;
/** Time limit of git itself (ms). The signal of the query ends it earlier. */
const TIMEOUT_MS = 2 * CALL_TIMEOUT_MS;

/** How the git binary reaches one repository. */
export interface RemoteAccess {
  url: string;
  access: GitAccess;
  /** Further variables for git. */
  environment?: Record<string, string> | undefined;
  /** Directory for temporary files of a query. */
  scratch: string;
  /** Ends git and its helpers. */
  signal: AbortSignal;
}

/** Fetches the refs of a query with the git binary, over ssh and git://. */
export async function lsRemote(git: Git, remote: RemoteAccess, query: RefQuery): Promise<FoundRefs> {
  const patterns = prefixesToSend(query).flatMap((prefix) =>
    prefix.endsWith('/') ? [`${prefix}*`] : [prefix, `${prefix}^{}`],
  );
  const output = await git
    .run(['ls-remote', '--', remote.url, ...patterns], { ...optionsOf(remote), maxOutputBytes: MAX_OUTPUT_BYTES })
    .catch((error: unknown) => {
      if (isTyped(error) && error.reason === 'GitAnswerTooLarge') throw tooManyRefsForGit();
      // No ref was requested yet, so a server that reports 'no such ref' now has a problem.
      throw error instanceof TerminalError && error.code === 'git.refNotFound'
        ? reportedError(credentialsOf(remote.access))
        : error;
    });
  const pacer = new Pacer();
  const wanted = await WantedRefs.of(query, pacer);
  for (const line of output.toString('utf8').split('\n')) {
    if (pacer.isDue) await pacer.rest();
    const [oid, name] = line.split('\t');
    if (oid && name) wanted.add(name.replace(/\^\{\}$/, ''), oid);
  }
  return wanted.found;
}

/** Whether the server serves a commit: fetches it without its trees and files into a temporary repository. */
export const fetchesCommit = (git: Git, remote: RemoteAccess, commit: string): Promise<boolean> =>
  inDirectory(remote.scratch, async (directory) => {
    const format = commit.length === 64 ? 'sha256' : 'sha1';
    await git.run(['init', '--quiet', '--bare', `--object-format=${format}`, directory], { signal: remote.signal });
    // One file, so that its size is the size received; and one thread, because each takes 8 MiB of the limit.
    const settings = ['-c', 'fetch.unpackLimit=1', '-c', 'pack.threads=1'];
    const args = ['fetch', '--quiet', '--depth=1', '--no-tags', '--filter=tree:0', '--end-of-options'];
    return await git.run([...settings, ...args, remote.url, commit], { ...optionsOf(remote), cwd: directory }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof TerminalError && error.code === 'git.refNotFound') return false;
        // A server without filters sends all files of the commit, so it serves the commit.
        if (error instanceof TransientError && error.code === 'git.fileTooLarge') return true;
        throw error;
      },
    );
  });

const optionsOf = ({ access, environment = {}, signal }: RemoteAccess) => ({
  access,
  environment,
  signal,
  limits: LIMITS,
  timeoutMs: TIMEOUT_MS,
});

/** Writes credentials to files that only this process can read, while `use` runs. */
export const withFiles = <T>(
  scratch: string,
  contents: Record<string, string>,
  use: (paths: Record<string, string>) => Promise<T>,
): Promise<T> =>
  inDirectory(scratch, async (directory) => {
    const paths: Record<string, string> = {};
    for (const [name, content] of Object.entries(contents)) {
      const path = join(directory, name);
      await writeFile(path, content, { mode: 0o600 });
      paths[name] = path;
    }
    return await use(paths);
  });

async function inDirectory<T>(scratch: string, use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(scratch, 'query-'));
  try {
    return await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
