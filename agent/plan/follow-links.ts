import { directoriesOf, isWithin, joinPath } from '../../shared/domain/relative-path.ts';
import { type LinkResolver, tooManyLinks } from './link-resolver.ts';
import type { OnEntry } from './memory-budget.ts';
import { CYCLE, MAX_LEVELS, type Resolved, TOO_DEEP } from './path-walk.ts';
import type { TreeEntry } from './plan-input.ts';

/** Maximum number of files and directories that links add to a commit. */
const MAX_COPIES = 100_000;

/** Maximum number of broken links that are named. */
const MAX_NAMED = 5;

/** A link that can't be followed. */
interface BrokenLink {
  link: TreeEntry;
  reason: string;
}

export interface FollowInput {
  /** Sources of the mappings. */
  sources: string[];
  isExcluded: (path: string) => boolean;
  resolver: LinkResolver;
  /** Called with each entry below the sources. The entries that a link leads to take its place. */
  onEntry: (entry: TreeEntry) => void;
  /** Called with each file and directory that a link adds; throws if there are too many. */
  onCopy: OnEntry;
}

/** Links without an entry, including those that depend on something that the resolver requested. */
export interface Unfollowed {
  /** The first few. */
  broken: BrokenLink[];
  total: number;
}

/** Follows the links below the sources. Throws {@link TerminalError} if they lead to too many entries. */
export function followLinks(input: FollowInput): Unfollowed {
  const follower = new Follower(input);
  const { sources } = input;
  for (const source of new Set(sources)) {
    if (!sources.some((other) => other !== source && isWithin(source, other))) follower.takeSource(source);
  }
  return follower;
}

/** A path to lay out. */
interface Place {
  /** The path by way of links. */
  path: string;
  /** The links that lead to it, by their paths in the commit, the outermost first. */
  links: string[];
}

class Follower implements Unfollowed {
  readonly broken: BrokenLink[] = [];
  total = 0;
  readonly #input: FollowInput;
  #copies = 0;

  constructor(input: FollowInput) {
    this.#input = input;
  }

  takeSource(source: string): void {
    const { resolver, isExcluded, onEntry } = this.#input;
    const resolved = resolver.resolveSource(source, isExcluded);
    const link: TreeEntry = { path: source, kind: 'link', blob: '', executable: false };
    if (resolved.kind === 'missing' && resolved.obstacle) onEntry(resolved.obstacle);
    else if (resolved.kind === 'broken') this.#break(resolved.link, resolved.reason);
    else this.#lay(resolved, link, []);
  }

  #lay(resolved: Resolved, link: TreeEntry, links: string[]): void {
    const { path } = link;
    if (resolved.kind === 'broken') this.#break(link, resolved.reason);
    else if (resolved.kind === 'unknown') this.#break(link, TOO_DEEP);
    else if (resolved.kind === 'file') this.#take(resolved.entry, path);
    else if (resolved.kind === 'directory') this.#layDirectory(resolved.path, { path, links });
  }

  #layDirectory(real: string, { path, links }: Place): void {
    const { resolver, isExcluded } = this.#input;
    const isCopy = real !== path;
    if (isCopy) this.#count(path, 'directory');
    let before = '';
    for (const entry of resolver.tree.below(real)) {
      const name = isCopy ? inside(entry.path, real) : '';
      for (const directory of directoriesOf(name)) {
        // The entries of a directory follow each other.
        if (!isWithin(before, directory)) this.#count(joinPath(path, directory), 'directory');
      }
      before = name;
      const place = isCopy ? joinPath(path, name) : entry.path;
      if (entry.kind === 'file' || isExcluded(place)) this.#take(entry, place);
      else if (entry.kind === 'link') this.#follow(entry, { path: place, links: [...links, entry.path] });
      else if (entry.kind === 'submodule') this.#takeSubmodule(entry, place);
      else this.#take(entry, place);
    }
  }

  #follow(entry: TreeEntry, { path, links }: Place): void {
    const link = { ...entry, path };
    const resolved = this.#input.resolver.resolveLink(entry.path);
    const isCycle = resolved.kind === 'directory' && links.some((passed) => isWithin(passed, resolved.path));
    if (isCycle) this.#break(link, CYCLE);
    else if (links.length > MAX_LEVELS) this.#break(link, TOO_DEEP);
    else this.#lay(resolved, link, links);
  }

  /** Links can lead to submodules that are excluded elsewhere, and to directories that contain submodules. */
  #takeSubmodule(entry: TreeEntry, path: string): void {
    const { resolver } = this.#input;
    if (!resolver.submodules || path === entry.path) this.#take(entry, path);
    else if (!resolver.tree.isListed(entry.path)) {
      resolver.request(entry.path);
      this.#break({ ...entry, path }, TOO_DEEP);
    }
  }

  #take(entry: TreeEntry, path: string): void {
    const isCopy = path !== entry.path;
    if (isCopy) this.#count(path, 'file');
    const target = entry.kind === 'file' ? entry.path : undefined;
    this.#input.onEntry(isCopy ? { ...entry, path, ...(target !== undefined && { target }) } : entry);
  }

  #break(link: TreeEntry, reason: string): void {
    this.#count(link.path, 'file');
    this.total += 1;
    if (this.broken.length < MAX_NAMED) this.broken.push({ link, reason });
  }

  #count(path: string, kind: 'file' | 'directory'): void {
    this.#copies += 1;
    if (this.#copies > MAX_COPIES) throw tooManyLinks(`lead to more than ${MAX_COPIES} files and directories`);
    this.#input.onCopy(path, kind);
  }
}

const inside = (path: string, directory: string): string =>
  directory === '' ? path : path.slice(directory.length + 1);
