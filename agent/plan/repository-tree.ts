import { directoriesOf } from '../../shared/domain/relative-path.ts';
import type { TreeEntry } from './plan-input.ts';

/** The part of a commit that was listed so far, including submodules. */
export class RepositoryTree {
  readonly #sources: ReadonlySet<string>;
  /** Sorted by path, so that the entries of a directory are adjacent. */
  #entries: TreeEntry[] = [];
  /** Further paths that were listed with everything below them, even if excluded. */
  readonly #listed = new Set<string>();

  /** `entries` are everything below the sources, except for the content of excluded submodules. */
  constructor(sources: string[], entries: TreeEntry[]) {
    this.#sources = new Set(sources);
    this.add(entries, []);
  }

  get entries(): readonly TreeEntry[] {
    return this.#entries;
  }

  /** Adds the entries at and below these paths. */
  add(entries: TreeEntry[], paths: string[]): void {
    for (const path of paths) this.#listed.add(path);
    const all = [...this.#entries, ...entries].sort(byPath);
    this.#entries = all.filter(({ path }, index) => index === 0 || path !== all[index - 1]?.path);
  }

  entryAt(path: string): TreeEntry | undefined {
    const entry = this.#entries[this.#firstFrom(path)];
    return entry?.path === path ? entry : undefined;
  }

  /** Whether the path is a directory with a known entry. Git stores no empty directories. */
  isDirectory(path: string): boolean {
    return this.#entries[this.#firstFrom(`${path}/`)]?.path.startsWith(`${path}/`) ?? false;
  }

  /** Returns the entries of a directory and all directories below it. */
  below(path: string): TreeEntry[] {
    if (path === '') return [...this.#entries];
    return this.#entries.slice(this.#firstFrom(`${path}/`), this.#firstFrom(`${path}0`)); // '0' follows '/'
  }

  /** Whether the entry at the path and everything below it are known. */
  isListed(path: string): boolean {
    if (this.#listed.has(path)) return true;
    for (const place of [...directoriesOf(path), path].reverse()) {
      if (this.#listed.has(place)) return true;
      if (this.entryAt(place)?.kind === 'submodule') return false;
      if (this.#sources.has(place)) return true;
    }
    return this.#sources.has('');
  }

  /** Returns the index of the first entry whose path isn't before this text. */
  #firstFrom(text: string): number {
    return firstIndex(this.#entries.length, (index) => (this.#entries[index] as TreeEntry).path >= text);
  }
}

/** Returns a check whether one of these paths is at or below a place. It doesn't keep the directories of the paths. */
export function leadTo(paths: string[]): (place: string) => boolean {
  const sorted = paths.toSorted();
  const firstFrom = (text: string) => sorted[firstIndex(sorted.length, (index) => (sorted[index] as string) >= text)];
  return (place) => firstFrom(place) === place || (firstFrom(`${place}/`)?.startsWith(`${place}/`) ?? false);
}

/** Returns the first index for which the condition is true, if it is true for all later ones. */
function firstIndex(count: number, condition: (index: number) => boolean): number {
  let low = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (condition(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function byPath(a: TreeEntry, b: TreeEntry): number {
  if (a.path === b.path) return 0;
  return a.path < b.path ? -1 : 1;
}
