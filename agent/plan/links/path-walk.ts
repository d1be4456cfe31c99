import { isTooLong, isWithin, joinPath } from '../../../shared/domain/files/relative-path.ts';
import type { TreeEntry } from '../plan-input.ts';
import { type LinkText, MAX_LINK_BYTES } from './link-text.ts';
import type { RepositoryTree, TreeNode } from './repository-tree.ts';

/** Maximum number of links on a path, as on Linux. */
export const MAX_LEVELS = 40;

export const CYCLE = 'a cycle';
export const TOO_DEEP = `more than ${MAX_LEVELS} links to follow`;
export const TOO_LONG = 'a path that is too long';
export const OUTSIDE = 'outside the repository';
export const outsideModule = (path: string) => `outside submodule ${path}`;
export const unfetched = (path: string) => `in submodule ${path}, which needs spec.git.submodules: true`;
export const DANGLING = 'no such file or directory in the commit';

/** The entry that a path leads to. */
export type Resolved =
  | { kind: 'file'; entry: TreeEntry }
  | { kind: 'directory'; directory: TreeNode }
  /** A link on the path leads nowhere. */
  | { kind: 'broken'; link: TreeEntry; reason: string }
  /** There is no such entry, although all links can be followed; or another one on the path, which isn't followed. */
  | { kind: 'missing'; obstacle?: TreeEntry }
  /** Depends on a text or entries that were requested. */
  | { kind: 'unknown' };

/** What a walk knows about the commit, and requests. */
export interface WalkContext {
  readonly tree: RepositoryTree;
  /** Whether submodules can be followed. */
  readonly submodules: boolean;
  /** Returns the text of a link, or requests it. */
  textOf(link: TreeEntry): LinkText | undefined;
  /** Requests everything at and below a path. */
  request(path: string): Resolved;
  /** Returns the path of the innermost submodule that contains a path; `''` for the repository. */
  moduleOf(path: string): string;
  /** Counts a name of a path. Throws {@link TerminalError} if there are too many. */
  countName(): void;
}

/** A path to follow. */
export interface Walked {
  path: string;
  /** The directory that the path is relative to. */
  directory: TreeNode;
  isExcluded: (path: string) => boolean;
}

/** A link that is being followed, and the one whose text led to it. */
interface Followed {
  path: string;
  outer: Followed | undefined;
}

/** The names of the given path, or of a link's text, that haven't been taken yet. */
interface Rest {
  text: string;
  /** Position of the next name in the text. */
  from: number;
  /** Path of the submodule that the path must not leave. */
  root: string;
  /** The link on the given path that the text belongs to; undefined for the given path. */
  link: TreeEntry | undefined;
  /** The link that the text belongs to; undefined for the given path. */
  followed: Followed | undefined;
}

/** A name in a path. */
interface Step extends Pick<Rest, 'root' | 'link' | 'followed'> {
  name: string;
}

/** Follows one path name by name, as Linux does, but only within the commit. */
export class PathWalk {
  readonly #context: WalkContext;
  readonly #isExcluded: (path: string) => boolean;
  readonly #given: Rest;
  /** Texts with remaining names, the next one last: a text isn't split before, because most of it might not matter. */
  readonly #rests: Rest[] = [];
  /** Number of links so far. */
  #links = 0;
  #at: TreeNode;
  /** The last link on the given path. `path` is its path in the commit, and `link.path` its part of the given path. */
  #last: { path: string; link: TreeEntry } | undefined;

  /** The walk starts in a directory of the commit. Excluded links on the path end it. */
  constructor({ path, directory, isExcluded }: Walked, context: WalkContext) {
    this.#context = context;
    this.#isExcluded = isExcluded;
    this.#at = directory;
    this.#given = { text: path, from: 0, root: '', link: undefined, followed: undefined };
    if (path !== '') this.#rests.push(this.#given);
  }

  run(): Resolved {
    for (let step = this.#next(this.#rests); step; step = this.#next(this.#rests)) {
      const end = this.#take(step);
      if (end) return end;
    }
    const { path, isListed } = this.#at;
    if (this.#last && isWithin(this.#last.path, path)) return { kind: 'broken', link: this.#last.link, reason: CYCLE };
    return isListed ? { kind: 'directory', directory: this.#at } : this.#context.request(path);
  }

  /** Takes the next name of the texts. */
  #next(rests: Rest[]): Step | undefined {
    const rest = rests.at(-1);
    if (!rest) return undefined;
    this.#context.countName();
    const { text, from, root, link, followed } = rest;
    const slash = text.indexOf('/', from);
    const end = slash === -1 ? text.length : slash;
    rest.from = end + 1;
    if (slash === -1) rests.pop();
    return { name: text.slice(from, end), root, link, followed };
  }

  #take(step: Step): Resolved | undefined {
    const { name, root, link } = step;
    if (name === '' || name === '.') return undefined;
    if (name === '..') {
      const { path, parent } = this.#at;
      if (path === root || !parent) return missing(step, root === '' ? OUTSIDE : outsideModule(root));
      this.#at = parent;
      return undefined;
    }
    if (link && isTooLong(name)) return missing(step, TOO_LONG);
    const node = this.#at.child(name);
    const { entry, isDirectory = false } = node ?? {};
    if (entry?.kind === 'file' && this.#rests.length === 0) return { kind: 'file', entry };
    if (entry?.kind === 'link') return this.#follow(entry, step);
    if (!node || !isDirectory) return this.#absent(node, step);
    this.#at = node;
    return undefined;
  }

  #follow(entry: TreeEntry, step: Step): Resolved | undefined {
    const link = step.link ?? { ...entry, path: this.#taken() };
    if (!step.link) {
      if (this.#isExcluded(link.path)) return { kind: 'missing', obstacle: link };
      this.#last = { path: entry.path, link };
    }
    this.#links += 1;
    if (this.#links > MAX_LEVELS) {
      return { kind: 'broken', link, reason: isFollowed(entry.path, step.followed) ? CYCLE : TOO_DEEP };
    }
    const text = this.#context.textOf(entry);
    if (!text) return { kind: 'unknown' };
    if (text.kind === 'broken') {
      return {
        kind: 'broken',
        link,
        reason: step.link ? `through ${entry.path.slice(0, 100)}: ${text.reason}` : text.reason,
      };
    }
    const followed = { path: entry.path, outer: step.followed };
    this.#rests.push({ text: text.text, from: 0, root: this.#context.moduleOf(entry.path), link, followed });
    return undefined;
  }

  /** `node` is a file, or a submodule without content. */
  #absent(node: TreeNode | undefined, step: Step): Resolved {
    const absent = missing(step, DANGLING);
    const entry = node?.entry;
    // A file at the end of a link: names of the given path follow.
    if (entry?.kind === 'file' && this.#rests.at(-1)?.link !== step.link) return { kind: 'missing' };
    if (entry && entry.kind !== 'submodule') return absent;
    const { tree, submodules } = this.#context;
    const place = joinPath(this.#at.path, step.name);
    if (entry && !submodules) {
      if (!step.link) return { kind: 'missing', obstacle: { ...entry, path: this.#taken() } };
      return missing(step, unfetched(place));
    }
    // The shorter path shows whether the link or the rest of the given path leads nowhere.
    const own = this.#rests.filter(({ link }) => link === step.link);
    const rests = own.length < this.#rests.length ? [this.#rests, own] : [own];
    const paths = rests.map((each) => joinPath(place, this.#namesBefore('..', each)));
    if (paths.some(isTooLong)) return missing(step, TOO_LONG);
    const unknown = (node ?? this.#at).isListed ? undefined : paths.find((path) => !tree.isMissing(path));
    return unknown === undefined ? absent : this.#context.request(unknown);
  }

  /** The part of the given path so far. */
  #taken(): string {
    return this.#given.text.slice(0, this.#given.from - 1);
  }

  /** Joins the names of the texts up to a given name, or until the path is too long. */
  #namesBefore(end: string, rests: Rest[]): string {
    const left = rests.map((rest) => ({ ...rest }));
    let path = '';
    for (let step = this.#next(left); step && step.name !== end; step = this.#next(left)) {
      if (step.name !== '' && step.name !== '.') path = joinPath(path, step.name);
      if (path.length > MAX_LINK_BYTES) break;
    }
    return path;
  }
}

/** Checks whether a link leads back to itself. */
function isFollowed(path: string, links: Followed | undefined): boolean {
  for (let each = links; each; each = each.outer) if (each.path === path) return true;
  return false;
}

const missing = ({ link }: Step, reason: string): Resolved =>
  link ? { kind: 'broken', link, reason } : { kind: 'missing' };
