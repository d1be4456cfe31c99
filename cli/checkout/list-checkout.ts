import type { TreeEntry } from '../../agent/plan/plan-input.ts';
import { joinPath } from '../../shared/domain/files/relative-path.ts';
import type { CheckoutGit } from './checkout-git.ts';

const KINDS: Record<string, TreeEntry['kind'] | undefined> = { '120000': 'link', '160000': 'submodule' };

/** The files that git tracks in a checkout. */
export interface CheckoutListing {
  /** Includes submodules that aren't checked out or not followed. */
  entries: TreeEntry[];
  /** Paths of the submodules whose files are included. */
  modules: Set<string>;
}

/**
 * Lists the files of a commit, or those that git tracks in the checkout if it is omitted, with the files of submodules
 * that are checked out. Throws `Problem`.
 */
export async function listCheckout(
  git: CheckoutGit,
  { submodules, commit }: { submodules: boolean; commit?: string | undefined },
): Promise<CheckoutListing> {
  const entries: TreeEntry[] = [];
  const modules = new Set<string>();
  const list = commit === undefined ? ['ls-files', '-z', '--stage'] : ['ls-tree', '-r', '-z', '--full-tree', commit];
  for (const entry of entriesOf(await git.text(list))) {
    const { kind, path, blob } = entry;
    const inner = kind === 'submodule' && submodules ? git.inside(path) : undefined;
    if (!inner || (commit !== undefined && !(await inner.hasCommit(blob)))) {
      entries.push(entry);
      continue;
    }
    const module = await listCheckout(inner, { submodules, commit: commit === undefined ? undefined : blob });
    for (const name of ['', ...module.modules]) modules.add(joinPath(path, name));
    for (const each of module.entries) entries.push({ ...each, path: joinPath(path, each.path) });
  }
  return { entries, modules };
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
