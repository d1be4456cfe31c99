import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TreeEntry } from '../../agent/plan/plan-input.ts';
import { joinPath } from '../../shared/domain/files/relative-path.ts';
import { causeOf } from '../../shared/domain/text/message-of.ts';
import { Problem } from '../client/problem.ts';

const run = promisify(execFile);
const MAX_OUTPUT_BYTES = 512 * 1024 ** 2;

const KINDS: Record<string, TreeEntry['kind'] | undefined> = { '120000': 'link', '160000': 'submodule' };

/** The files that git tracks in a checkout. */
export interface CheckoutListing {
  /** Includes submodules that aren't checked out or not followed. */
  entries: TreeEntry[];
  /** Paths of the submodules whose files are included. */
  modules: Set<string>;
}

/** Lists the files that git tracks in a directory, which it considers the root of the repository. Throws `Problem`. */
export async function listCheckout(
  directory: string,
  { submodules }: { submodules: boolean },
): Promise<CheckoutListing> {
  const entries: TreeEntry[] = [];
  const modules = new Set<string>();
  for (const entry of await listFiles(directory)) {
    const { kind, path } = entry;
    if (kind === 'submodule' && submodules && existsSync(join(directory, path, '.git'))) {
      const module = await listCheckout(join(directory, path), { submodules });
      for (const inner of ['', ...module.modules]) modules.add(joinPath(path, inner));
      for (const inner of module.entries) entries.push({ ...inner, path: joinPath(path, inner.path) });
    } else entries.push(entry);
  }
  return { entries, modules };
}

async function listFiles(directory: string): Promise<TreeEntry[]> {
  return entriesOf(await git(directory, ['ls-files', '-z', '--stage']));
}

/** Reads the output of `git ls-files -z --stage` or `git ls-tree -rz`. */
export function entriesOf(output: string): TreeEntry[] {
  return output.split('\0').flatMap((record) => {
    const [, mode = '', blob = '', path = ''] = /^(\d+) (?:[a-z]+ )?([0-9a-f]+)(?: \d)?\t(.*)$/s.exec(record) ?? [];
    if (path === '') return [];
    if (path.includes('\uFFFD')) return [{ path, blob, kind: 'unreadable' as const, executable: false }];
    return [{ path, blob, kind: KINDS[mode] ?? ('file' as const), executable: mode === '100755' }];
  });
}

/** Returns the commit that is checked out. Throws `Problem`. */
export async function readCommit(directory: string): Promise<string> {
  return (await git(directory, ['rev-parse', '--verify', 'HEAD'])).trim();
}

/** Returns the output of a git command in a directory. Throws `Problem`. */
export async function git(directory: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await run('git', ['-C', directory, ...args], { maxBuffer: MAX_OUTPUT_BYTES });
    return stdout;
  } catch (error) {
    throw new Problem(`git can't read the checkout ${directory}: ${gitCause(error)}`, 'CheckoutInvalid', {
      cause: error,
    });
  }
}

/** Causes by git's messages. */
const CAUSES: [RegExp, string][] = [
  [/not a git repository/, "it isn't a git checkout: specify the directory of one"],
  [/dubious ownership/, 'it belongs to another user: add it with git config --global --add safe.directory'],
  [/cannot change to/, "it isn't a directory that you can open: specify the directory of a checkout"],
  [/Needed a single revision|ambiguous argument 'HEAD'/, 'it has no commit'],
];

function gitCause(error: unknown): string {
  const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
  if (code === 'ENOENT') return 'git is not installed (ENOENT)';
  if (typeof code === 'string') return causeOf(error);
  const known = CAUSES.find(([text]) => text.test(stderr))?.[1];
  return known ?? `git exited with status ${code}: run git status there to see the cause`;
}
