import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import type { Git, GitLimits } from '../../shared/io/git/git.ts';
import { credentialsOf, type GitAccess } from '../../shared/io/git/git-environment.ts';
import type { AdvertisedRefs } from '../intent/resolve-ref.ts';
import { reportedError } from './host-errors.ts';
import { prefixesToSend, type RefQuery, WantedRefs } from './ref-query.ts';

const MIB = 1024 * 1024;
/**
 * What a process of git may use: it keeps every ref that a host names, in three times the bytes that came. Two of them
 * at a time have to fit into a container of 128 MiB, of which the controller itself has needed up to 86.
 */
const LIMITS: GitLimits = { memoryBytes: 20 * MIB, fileBytes: 32 * MIB };
const MAX_OUTPUT_BYTES = 4 * MIB;
/** Time limit of git itself (ms), beyond the longest `spec.git.timeout`: the signal of the query ends it earlier. */
const TIMEOUT_MS = 25 * 3_600_000;

/** How the git binary asks one repository. */
export interface RemoteAccess {
  url: string;
  access: GitAccess;
  /** Further variables for git. */
  environment?: Record<string, string> | undefined;
  /** Folder for what a query needs for a moment. */
  scratch: string;
  /** Ends git and its helpers. */
  signal: AbortSignal;
}

/** Asks by the git binary for the refs of a query: for ssh and git://. */
export async function lsRemote(git: Git, remote: RemoteAccess, query: RefQuery): Promise<AdvertisedRefs> {
  const patterns = prefixesToSend(query.prefixes).flatMap((prefix) =>
    prefix.endsWith('/') ? [`${prefix}*`] : [prefix, `${prefix}^{}`],
  );
  const output = await git
    .run(['ls-remote', '--', remote.url, ...patterns], { ...optionsOf(remote), maxOutputBytes: MAX_OUTPUT_BYTES })
    .catch((error: unknown) => {
      // Nothing was asked for yet: a host that says 'no such ref' now is in trouble itself.
      throw error instanceof TerminalError && error.code === 'git.refNotFound'
        ? reportedError(credentialsOf(remote.access))
        : error;
    });
  const wanted = new WantedRefs(query);
  for (const line of output.toString('utf8').split('\n')) {
    const [oid, name] = line.split('\t');
    if (oid && name) wanted.add(name.replace(/\^\{\}$/, ''), oid);
  }
  return wanted.refs;
}

/** Whether the host serves a commit, by fetching it without its trees and files into a repository that is thrown away. */
export async function fetchesCommit(git: Git, remote: RemoteAccess, commit: string): Promise<boolean> {
  const folder = await mkdtemp(join(remote.scratch, 'probe-'));
  try {
    const format = commit.length === 64 ? 'sha256' : 'sha1';
    await git.run(['init', '--quiet', '--bare', `--object-format=${format}`, folder], { signal: remote.signal });
    // One file, so that its size is what came; and one thread, since each takes 8 MiB of what may be used.
    const settings = ['-c', 'fetch.unpackLimit=1', '-c', 'pack.threads=1'];
    const args = ['fetch', '--quiet', '--depth=1', '--no-tags', '--filter=tree:0', '--end-of-options'];
    await git.run([...settings, ...args, remote.url, commit], { ...optionsOf(remote), cwd: folder });
    return true;
  } catch (error) {
    if (error instanceof TerminalError && error.code === 'git.refNotFound') return false;
    // A host that knows no filters sends all files of the commit: so it serves it.
    if (error instanceof TransientError && error.code === 'git.fileTooLarge') return true;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const optionsOf = ({ access, environment = {}, signal }: RemoteAccess) => ({
  access,
  environment,
  signal,
  limits: LIMITS,
  timeoutMs: TIMEOUT_MS,
});

/** Puts credentials into files that only this process may read, for as long as `use` runs. */
export async function withFiles<T>(
  scratch: string,
  contents: Record<string, string>,
  use: (paths: Record<string, string>) => Promise<T>,
): Promise<T> {
  const folder = await mkdtemp(join(scratch, 'access-'));
  try {
    const paths: Record<string, string> = {};
    for (const [name, content] of Object.entries(contents)) {
      const path = join(folder, name);
      await writeFile(path, content, { mode: 0o600 });
      paths[name] = path;
    }
    return await use(paths);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
