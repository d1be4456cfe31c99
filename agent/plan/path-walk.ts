import { isTooLong, isWithin, joinPath } from '../../shared/domain/relative-path.ts';
import type { LinkText } from './link-text.ts';
import type { TreeEntry } from './plan-input.ts';
import type { RepositoryTree } from './repository-tree.ts';

/** Maximum number of links on a path, as on Linux. */
export const MAX_LEVELS = 40;

export const CYCLE = 'a cycle';
export const TOO_DEEP = `more than ${MAX_LEVELS} links in a row`;

/** The entry that a path leads to. */
export type Resolved =
  | { kind: 'file'; entry: TreeEntry }
  | { kind: 'directory'; path: string }
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
  directory: string;
  isExcluded: (path: string) => boolean;
}

/** A name in a path. */
interface Step {
  name: string;
  /** Path of the submodule that the path must not leave. */
  root: string;
  /** The link on the given path that the name belongs to; undefined for names of the given path. */
  link: TreeEntry | undefined;
}

/** Follows one path name by name, as Linux does, but only within the commit. */
export class PathWalk {
  readonly #context: WalkContext;
  readonly #isExcluded: (path: string) => boolean;
  readonly #names: string[];
  /** Remaining names, in reverse order. */
  readonly #steps: Step[];
  /** Links so far. */
  readonly #passed: string[] = [];
  #at: string;
  /** The last link on the given path. `path` is its path in the commit, and `link.path` its part of the given path. */
  #last: { path: string; link: TreeEntry } | undefined;

  /** The walk starts in a directory of the commit. Excluded links on the path end it. */
  constructor({ path, directory, isExcluded }: Walked, context: WalkContext) {
    this.#context = context;
    this.#isExcluded = isExcluded;
    this.#at = directory;
    this.#names = path === '' ? [] : path.split('/');
    this.#steps = this.#names.map((name) => ({ name, root: '', link: undefined })).reverse();
  }

  run(): Resolved {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      this.#context.countName();
      const end = this.#take(step);
      if (end) return end;
    }
    const path = this.#at;
    if (this.#last && isWithin(this.#last.path, path)) return { kind: 'broken', link: this.#last.link, reason: CYCLE };
    return this.#context.tree.isListed(path) ? { kind: 'directory', path } : this.#context.request(path);
  }

  #take(step: Step): Resolved | undefined {
    const { name, root } = step;
    if (name === '' || name === '.') return undefined;
    if (name === '..') {
      if (this.#at === root) return missing(step, root === '' ? 'outside the repository' : `outside submodule ${root}`);
      this.#at = this.#at.slice(0, Math.max(0, this.#at.lastIndexOf('/')));
      return undefined;
    }
    const { tree } = this.#context;
    const place = joinPath(this.#at, name);
    const entry = tree.entryAt(place);
    if (entry?.kind === 'file' && this.#steps.length === 0) return { kind: 'file', entry };
    if (entry?.kind === 'link') return this.#follow(entry, step);
    if (!tree.isDirectory(place)) return this.#absent(place, entry, step);
    this.#at = place;
    return undefined;
  }

  #follow(entry: TreeEntry, step: Step): Resolved | undefined {
    const link = step.link ?? { ...entry, path: this.#given() };
    if (!step.link) {
      if (this.#isExcluded(link.path)) return { kind: 'missing', obstacle: link };
      this.#last = { path: entry.path, link };
    }
    this.#passed.push(entry.path);
    if (this.#passed.length > MAX_LEVELS) {
      const reason = new Set(this.#passed).size === this.#passed.length ? TOO_DEEP : CYCLE;
      return { kind: 'broken', link, reason };
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
    const root = this.#context.moduleOf(entry.path);
    for (const name of text.text.split('/').reverse()) this.#steps.push({ name, root, link });
    return undefined;
  }

  #absent(place: string, entry: TreeEntry | undefined, step: Step): Resolved {
    const absent = missing(step, 'no such file or directory in the commit');
    // A file at the end of a link: names of the given path follow.
    if (entry?.kind === 'file' && this.#steps.at(-1)?.link !== step.link) return { kind: 'missing' };
    if (entry && entry.kind !== 'submodule') return absent;
    const { tree, submodules } = this.#context;
    if (entry && !submodules) {
      if (!step.link) return { kind: 'missing', obstacle: { ...entry, path: this.#given() } };
      return missing(step, `in submodule ${place}, which needs spec.git.submodules: true`);
    }
    // The shorter path shows whether the link or the rest of the given path leads nowhere.
    const paths = [this.#steps, this.#steps.filter(({ link }) => link === step.link)].map((steps) =>
      joinPath(place, namesBefore('..', steps)),
    );
    if (paths.some(isTooLong)) return missing(step, 'a path that is too long');
    const unknown = paths.find((path) => !tree.isListed(path));
    return unknown === undefined ? absent : this.#context.request(unknown);
  }

  /** The part of the given path so far. */
  #given(): string {
    return this.#names.slice(0, this.#names.length - this.#steps.length).join('/');
  }
}

/** Joins the names of the steps, which are in reverse order, up to a given name. */
function namesBefore(end: string, steps: Step[]): string {
  const names: string[] = [];
  for (const { name } of steps.toReversed()) {
    if (name === end) break;
    if (name !== '' && name !== '.') names.push(name);
  }
  return names.join('/');
}

const missing = ({ link }: Step, reason: string): Resolved =>
  link ? { kind: 'broken', link, reason } : { kind: 'missing' };
