import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TerminalError } from '../../shared/errors.ts';
import type { Git, GitAccess } from '../../shared/io/git/git.ts';
import type { AdvertisedRefs } from '../intent/resolve-ref.ts';
import { prefixesToSend, type RefQuery, WantedRefs } from './wanted-refs.ts';

/** Time for one query by the git binary, in milliseconds. */
const TIMEOUT_MS = 20_000;

/** Asks by the git binary for the refs of a query: for ssh and git://. */
export async function lsRemote(git: Git, url: string, query: RefQuery, access: GitAccess): Promise<AdvertisedRefs> {
  const patterns = prefixesToSend(query.prefixes).flatMap((prefix) =>
    prefix.endsWith('/') ? [`${prefix}*`] : [prefix, `${prefix}^{}`],
  );
  const output = await git.run(['ls-remote', '--', url, ...patterns], { access, timeoutMs: TIMEOUT_MS });
  const wanted = new WantedRefs(query);
  for (const line of output.toString('utf8').split('\n')) {
    const [oid, name] = line.split('\t');
    if (oid && name) wanted.add(name.replace(/\^\{\}$/, ''), oid);
  }
  return wanted.refs;
}

/** Whether the host serves a commit, by fetching it without its trees and files into a repository that is thrown away. */
export async function fetchesCommit(
  git: Git,
  url: string,
  commit: string,
  { access, scratch }: { access: GitAccess; scratch: string },
): Promise<boolean> {
  const folder = await mkdtemp(join(scratch, 'probe-'));
  try {
    await git.run(['init', '--quiet', '--bare', folder]);
    const args = ['fetch', '--quiet', '--depth=1', '--no-tags', '--filter=tree:0', '--end-of-options', url, commit];
    await git.run(args, { cwd: folder, access, timeoutMs: TIMEOUT_MS });
    return true;
  } catch (error) {
    if (error instanceof TerminalError && error.code === 'git.refNotFound') return false;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

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
