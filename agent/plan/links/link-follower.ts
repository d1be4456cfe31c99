import { isWithin, joinPath } from '../../../shared/domain/files/relative-path.ts';
import { MAX_PROBLEMS } from '../../../shared/errors.ts';
import { directoriesAfter } from '../directories.ts';
import type { OnEntry } from '../memory-budget.ts';
import type { TreeEntry } from '../plan-input.ts';
import { type LinkResolver, tooManyLinks } from './link-resolver.ts';
import { CYCLE, MAX_LEVELS, type Resolved, TOO_DEEP } from './path-walk.ts';
import type { EntryNode, TreeNode } from './repository-tree.ts';

/** Maximum number of files and directories that links add to a commit. */
const MAX_COPIES = 100_000;

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

/** A path to lay out. */
interface Place {
  /** The path by way of links. */
  path: string;
  /** The links that lead to it, by their paths in the commit, the outermost first. */
  links: string[];
}

/** A link, or a submodule that a link leads to. A source has no node. */
interface Waiting {
  node?: EntryNode;
  place: Place;
}

/** Follows the links below the sources. Throws {@link TerminalError} if they lead to too many entries. */
export class LinkFollower {
  readonly #input: FollowInput;
  readonly #broken: BrokenLink[] = [];
  #total = 0;
  #copies = 0;
  /** Places that depend on requests of the resolver. There can be many, so each keeps little. */
  #waiting: Waiting[] = [];

  constructor(input: FollowInput) {
    this.#input = input;
    const { sources } = input;
    for (const source of new Set(sources)) {
      if (!sources.some((other) => other !== source && isWithin(source, other))) this.#takeSource(source);
    }
  }

  get unfollowed(): Unfollowed {
    const waiting = this.#waiting.slice(0, MAX_PROBLEMS).map(({ node, place: { path } }) => ({
      link: node ? { ...node.entry, path } : linkAt(path),
      reason: TOO_DEEP,
    }));
    return { broken: [...this.#broken, ...waiting].slice(0, MAX_PROBLEMS), total: this.#total + this.#waiting.length };
  }

  /** Goes on after the requests of the resolver were fulfilled, in steps, because links can lead to many files. */
  *resume(): Generator<undefined> {
    const waiting = this.#waiting.reverse();
    this.#waiting = [];
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      this.#retry(next);
      yield;
    }
  }

  #retry({ node, place }: Waiting): void {
    if (!node) this.#takeSource(place.path);
    else if (node.entry.kind === 'link') this.#follow(node, place);
    else this.#layDirectory(node, place);
  }

  #takeSource(source: string): void {
    const { resolver, isExcluded, onEntry } = this.#input;
    const resolved = resolver.resolveSource(source, isExcluded);
    if (resolved.kind === 'missing' && resolved.obstacle) onEntry(resolved.obstacle);
    else if (resolved.kind === 'broken') this.#break(resolved.link, resolved.reason);
    else if (resolved.kind === 'unknown') this.#await({ place: { path: source, links: [] } });
    else this.#lay(resolved, linkAt(source), []);
  }

  #lay(resolved: Resolved, link: TreeEntry, links: string[]): void {
    const { path } = link;
    if (resolved.kind === 'broken') this.#break(link, resolved.reason);
    else if (resolved.kind === 'file') this.#take(resolved.entry, path);
    else if (resolved.kind === 'directory') this.#layDirectory(resolved.directory, { path, links });
  }

  #layDirectory(directory: TreeNode, { path, links }: Place): void {
    const { isExcluded } = this.#input;
    const isCopy = directory.path !== path;
    if (isCopy) this.#count(path, 'directory');
    let before = '';
    for (const node of directory.below()) {
      const { entry } = node;
      const name = isCopy ? inside(entry.path, directory.path) : '';
      for (const parent of directoriesAfter(before, name)) this.#count(joinPath(path, parent), 'directory');
      before = name;
      const place = { path: isCopy ? joinPath(path, name) : entry.path, links };
      if (entry.kind === 'file' || isExcluded(place.path)) this.#take(entry, place.path);
      else if (entry.kind === 'link') this.#follow(node, { path: place.path, links: [...links, entry.path] });
      else if (entry.kind === 'submodule') this.#takeSubmodule(node, place);
      else this.#take(entry, place.path);
    }
  }

  #follow(node: EntryNode, place: Place): void {
    const { path, links } = place;
    const link = { ...node.entry, path };
    const resolved = this.#input.resolver.resolveLink(node);
    const isCycle = resolved.kind === 'directory' && links.some((passed) => isWithin(passed, resolved.directory.path));
    if (isCycle) this.#break(link, CYCLE);
    else if (links.length > MAX_LEVELS) this.#break(link, TOO_DEEP);
    else if (resolved.kind === 'unknown') this.#await({ node, place });
    else this.#lay(resolved, link, links);
  }

  /** Links can lead to submodules that are excluded elsewhere, and to directories that contain submodules. */
  #takeSubmodule(node: EntryNode, place: Place): void {
    const { entry } = node;
    const { path } = place;
    const { resolver } = this.#input;
    if (!resolver.submodules || path === entry.path) this.#take(entry, path);
    else if (!node.isListed) {
      resolver.request(entry.path);
      this.#await({ node, place });
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
    // Several sources can be below the same link.
    if (this.#broken.some((known) => known.link.path === link.path)) return;
    this.#total += 1;
    if (this.#broken.length < MAX_PROBLEMS) this.#broken.push({ link, reason });
  }

  #await(waiting: Waiting): void {
    this.#waiting.push(waiting);
    if (this.#copies + this.#waiting.length > MAX_COPIES) throw tooManyCopies();
  }

  #count(path: string, kind: 'file' | 'directory'): void {
    this.#copies += 1;
    if (this.#copies > MAX_COPIES) throw tooManyCopies();
    this.#input.onCopy(path, kind);
  }
}

/** What stands for a source whose path leads through links. */
const linkAt = (path: string): TreeEntry => ({ path, kind: 'link', blob: '', executable: false });

const tooManyCopies = () => tooManyLinks(`lead to more than ${MAX_COPIES} files and directories`);

const inside = (path: string, directory: string): string =>
  directory === '' ? path : path.slice(directory.length + 1);
