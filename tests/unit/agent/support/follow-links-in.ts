import { excludeFilter } from '../../../../agent/plan/exclude-filter.ts';
import { describeBrokenLinks } from '../../../../agent/plan/links/describe-broken-links.ts';
import { LinkFollower } from '../../../../agent/plan/links/link-follower.ts';
import { LinkResolver } from '../../../../agent/plan/links/link-resolver.ts';
import { type LinkText, linkText, MAX_LINK_BYTES } from '../../../../agent/plan/links/link-text.ts';
import { RepositoryTree } from '../../../../agent/plan/links/repository-tree.ts';
import type { TreeEntry } from '../../../../agent/plan/plan-input.ts';
import { isWithin } from '../../../../shared/domain/files/relative-path.ts';

/** Entries of a commit by path: a link, a submodule that isn't fetched, or a file. */
export type Tree = Record<string, { link: string | Buffer } | { submodule: true } | 'file' | 'executable'>;

interface Options {
  sources?: string[];
  excludes?: string[];
  submodules?: boolean;
  modules?: string[];
  onCopy?: (path: string, kind: 'file' | 'directory') => void;
}

interface Result {
  /** Files by the path at which they are laid out, with their path in the commit. */
  files: Record<string, string>;
  entries: TreeEntry[];
  broken: string[];
  message: string;
  /** Number of requests for entries that no source includes. */
  levels: number;
}

/** Follows the links of a commit. Lists targets outside the sources only when they are requested, as a sync does. */
export function followLinksIn(given: Tree, options: Options = {}): Result {
  const { sources = [''], excludes = [], submodules = false, modules = [], onCopy = () => {} } = options;
  const texts = new Map<string, LinkText>();
  const contents = new Map<string, Buffer>();
  const all = Object.entries(given).map(([path, entry]) => entryOf(path, entry, contents));
  const list = (paths: string[]) => paths.flatMap((path) => listed(all, path));
  const tree = new RepositoryTree(sources, list(sources));
  const resolver = new LinkResolver({ tree, texts, modules: new Set(modules), submodules, onRequest: () => {} });
  const entries: TreeEntry[] = [];
  const onEntry = (entry: TreeEntry) => void entries.push(entry);
  const follower = new LinkFollower({ sources, isExcluded: excludeFilter(excludes), resolver, onEntry, onCopy });
  let levels = 0;
  for (;;) {
    const requests = resolver.takeRequests();
    if (requests.texts.size === 0 && requests.paths.size === 0) break;
    if (requests.texts.size > 0) {
      for (const blob of requests.texts) texts.set(blob, linkText(readable(contents.get(blob))));
    } else {
      levels += 1;
      tree.add(list([...requests.paths]), [...requests.paths]);
    }
    Array.from(follower.resume());
  }
  const { unfollowed } = follower;
  return {
    entries,
    files: Object.fromEntries(
      entries.filter(({ kind }) => kind === 'file').map(({ path, target }) => [path, target ?? path]),
    ),
    broken: unfollowed.broken.map(({ link, reason }) => `${link.path}: ${reason}`),
    message: describeBrokenLinks(unfollowed, texts),
    levels,
  };
}

const readable = (content: Buffer | undefined) => (content && content.length <= MAX_LINK_BYTES ? content : undefined);

/** Everything at and below a path, or links and submodules above it. */
function listed(all: TreeEntry[], path: string): TreeEntry[] {
  const found = all.filter((entry) => isWithin(entry.path, path));
  return found.length > 0 ? found : all.filter((entry) => entry.kind !== 'file' && isWithin(path, entry.path));
}

function entryOf(path: string, given: Tree[string], contents: Map<string, Buffer>): TreeEntry {
  const entry: TreeEntry = { path, kind: 'file', blob: `blob of ${path}`, executable: given === 'executable' };
  if (typeof given === 'string') return entry;
  if ('submodule' in given) return { ...entry, kind: 'submodule' };
  contents.set(entry.blob, Buffer.from(given.link));
  return { ...entry, kind: 'link' };
}
