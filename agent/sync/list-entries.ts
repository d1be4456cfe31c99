import { isWithin } from '../../shared/domain/files/relative-path.ts';
import type { RenderedMapping } from '../../shared/domain/files/render-mappings.ts';
import { Pacer } from '../../shared/io/pacer.ts';
import { expandSubmodules } from '../git/expand-submodules.ts';
import { brokenLinkProblems, describeBrokenLinks } from '../plan/links/describe-broken-links.ts';
import { type FollowInput, LinkFollower } from '../plan/links/link-follower.ts';
import { LinkResolver } from '../plan/links/link-resolver.ts';
import { type LinkText, linkText, MAX_LINK_BYTES } from '../plan/links/link-text.ts';
import { MAX_LEVELS } from '../plan/links/path-walk.ts';
import { leadTo, RepositoryTree } from '../plan/links/repository-tree.ts';
import { MemoryBudget } from '../plan/memory-budget.ts';
import type { TreeEntry } from '../plan/plan-input.ts';
import { readBlobs } from './read-blobs.ts';
import { type SyncAim, syncProblems } from './sync-aim.ts';
import type { SyncDependencies } from './sync-dependencies.ts';

/** The clone, and what it needs to fetch more objects. */
export type Repository = Pick<SyncDependencies, 'clone' | 'accessFiles' | 'heapBytes'>;

/** The entries of a commit. */
export interface Listing {
  /** Entries below the sources, with those that links lead to in the place of the links. */
  entries: TreeEntry[];
  /** Entries as they are in the commit, including those outside the sources that links lead to. */
  listed: readonly TreeEntry[];
  /** Paths of the repository and its submodules. */
  roots: string[];
  /** Whether there are links that aren't excluded: then changes outside the sources can change files. */
  hasLinks: boolean;
  /** Texts of links, by their blobs: at least of those that are delivered as they are. */
  texts: ReadonlyMap<string, LinkText>;
}

/** Lists the mapped entries of the commit, including those of submodules, and follows links. */
export async function listEntries(
  isExcluded: (path: string) => boolean,
  aim: SyncAim,
  dependencies: Repository,
): Promise<Listing> {
  const { mappings, manifest, intent } = aim;
  const sources = [...new Set(mappings.map(({ source }) => source))];
  const budget = new MemoryBudget(dependencies.heapBytes, { manifest, mappings });
  const lister = new Lister({ budget, aim, dependencies });
  const entries = await lister.list(sources, isExcluded);
  const roots = () => ['', ...lister.modules];
  const isMapped = (path: string) => sources.some((source) => isWithin(path, source) || isWithin(source, path));
  const hasLinks = entries.some(({ kind, path }) => kind === 'link' && isMapped(path) && !isExcluded(path));
  if (hasLinks) await lister.readTexts(keptBlobs(entries, mappings, isExcluded));
  const { texts } = lister;
  const followed = mappings.flatMap(({ source, keptLinks }) => (keptLinks === undefined ? [source] : []));
  if (!hasLinks || followed.length === 0 || intent.profile.links === 'refuse')
    return { entries, listed: entries, roots: roots(), hasLinks, texts };
  const tree = new RepositoryTree(sources, entries);
  const scope = { tree, sources: [...new Set(followed)], isExcluded, lister };
  return { ...(await follow(scope)), roots: roots(), hasLinks, texts };
}

/** Returns the blobs of links that are delivered as they are. */
function keptBlobs(
  entries: readonly TreeEntry[],
  mappings: readonly RenderedMapping[],
  isExcluded: (path: string) => boolean,
): string[] {
  const sources = mappings.flatMap(({ source, keptLinks }) => (keptLinks === undefined ? [] : [source]));
  const isKept = ({ kind, path }: TreeEntry) =>
    kind === 'link' && sources.some((source) => isWithin(path, source)) && !isExcluded(path);
  return entries.filter(isKept).map(({ blob }) => blob);
}

interface ListerInput {
  budget: MemoryBudget;
  aim: SyncAim;
  dependencies: Repository;
}

/** Lists paths of the commit, and reads the texts of links. */
class Lister {
  readonly input: ListerInput;
  readonly modules = new Set<string>();
  readonly texts = new Map<string, LinkText>();

  constructor(input: ListerInput) {
    this.input = input;
  }

  /** Lists the sources with everything below them. Submodules that are excluded remain entries. */
  async list(sources: string[], isExcluded: (path: string) => boolean): Promise<TreeEntry[]> {
    const { budget, aim, dependencies } = this.input;
    const { intent, signal, isRefetch } = aim;
    const { commit, submodules } = intent;
    const request = { commit, sources, signal, withAttributes: true };
    const entries = await dependencies.clone.list(request, budget.take);
    if (!submodules) return entries;
    const { modules } = this;
    const expansion = { intent, sources, isExcluded, signal, onEntry: budget.take, modules, isRefetch };
    return await expandSubmodules(entries, expansion, dependencies);
  }

  /** Lists paths that links lead to: with submodules on the way to them, but without those below. */
  async listTargets(paths: string[]): Promise<TreeEntry[]> {
    const isNeeded = leadTo(paths);
    return await this.list(paths, (path) => !isNeeded(path));
  }

  async readTexts(blobs: Iterable<string>): Promise<void> {
    const { budget, aim, dependencies } = this.input;
    const onContent = (blob: string, content: Buffer | undefined) => {
      const text = linkText(content);
      budget.takeText(text.text);
      this.texts.set(blob, text);
    };
    await readBlobs({ blobs, maxBytes: MAX_LINK_BYTES, onContent }, aim, dependencies);
  }
}

interface LinkScope extends Pick<FollowInput, 'sources' | 'isExcluded'> {
  tree: RepositoryTree;
  lister: Lister;
}

/** Follows links level by level, until everything that they lead to is known. */
async function follow(scope: LinkScope): Promise<Pick<Listing, 'entries' | 'listed'>> {
  const { tree, sources, isExcluded, lister } = scope;
  const { submodules } = lister.input.aim.intent;
  const { texts, modules } = lister;
  const onRequest = (path: string) => lister.input.budget.takeText(path);
  const resolver = new LinkResolver({ tree, texts, modules, submodules, onRequest });
  const entries: TreeEntry[] = [];
  const onEntry = (entry: TreeEntry) => void entries.push(entry);
  const follower = new LinkFollower({ sources, isExcluded, resolver, onEntry, onCopy: lister.input.budget.take });
  const pacer = new Pacer();
  let requests = resolver.takeRequests();
  for (let level = 0; requests.texts.size > 0 || (requests.paths.size > 0 && level < MAX_LEVELS); ) {
    if (requests.texts.size > 0) await lister.readTexts(requests.texts);
    else {
      const paths = [...requests.paths];
      tree.add(await lister.listTargets(paths), paths);
      level += 1;
    }
    for (const _ of follower.resume()) if (pacer.isDue) await pacer.rest();
    requests = resolver.takeRequests();
  }
  const { unfollowed } = follower;
  if (unfollowed.total > 0)
    throw syncProblems('ProfileInvalid', brokenLinkProblems(unfollowed, texts), describeBrokenLinks(unfollowed, texts));
  return { entries, listed: tree.entries };
}
