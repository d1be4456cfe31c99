import type { TreeEntry } from '../plan-input.ts';

/** An entry or a directory of a commit. A submodule whose content was listed is both. */
export class TreeNode {
  readonly path: string;
  readonly parent: TreeNode | undefined;
  /** The entry itself. Directories have none. */
  entry: TreeEntry | undefined;
  /** Whether the path was listed: as a source, whose submodules can be missing, or with everything below it. */
  listed: 'source' | 'whole' | undefined;
  #children: Map<string, TreeNode> | undefined;

  constructor(path: string, parent?: TreeNode) {
    this.path = path;
    this.parent = parent;
  }

  /** Git stores no empty directories. */
  get isDirectory(): boolean {
    return this.#children !== undefined;
  }

  /** Whether everything below is known. */
  get isListed(): boolean {
    for (let node: TreeNode | undefined = this; node; node = node.parent) {
      if (node.listed === 'whole') return true;
      if (node.entry?.kind === 'submodule') return false;
      if (node.listed === 'source') return true;
    }
    return false;
  }

  child(name: string): TreeNode | undefined {
    return this.#children?.get(name);
  }

  /** Returns the child of this name, which is created if it is missing. */
  grow(name: string, path: string): TreeNode {
    this.#children ??= new Map();
    const child = this.#children.get(name) ?? new TreeNode(path, this);
    this.#children.set(name, child);
    return child;
  }

  /** Returns all entries below, those of each directory next to each other. */
  below(): EntryNode[] {
    const found: EntryNode[] = [];
    const open: TreeNode[] = [this];
    for (let node = open.pop(); node; node = open.pop()) {
      if (node !== this && hasEntry(node)) found.push(node);
      for (const child of [...(node.#children?.values() ?? [])].reverse()) open.push(child);
    }
    return found;
  }
}

export type EntryNode = TreeNode & { entry: TreeEntry };

const hasEntry = (node: TreeNode): node is EntryNode => node.entry !== undefined;

/** The part of a commit that was listed so far, including submodules. Following a path takes a step for each name. */
export class RepositoryTree {
  readonly root = new TreeNode('');
  /** Paths that were listed even if they are missing. */
  readonly #requested = new Set<string>();

  /** `entries` are everything below the sources, except for the content of excluded submodules. */
  constructor(sources: string[], entries: TreeEntry[]) {
    for (const entry of entries) this.#insert(entry);
    for (const source of sources) this.#mark(source, 'source');
  }

  get entries(): readonly TreeEntry[] {
    return this.root.below().map(({ entry }) => entry);
  }

  /** Adds the entries at and below these paths, even if they are excluded. */
  add(entries: TreeEntry[], paths: string[]): void {
    for (const entry of entries) this.#insert(entry);
    for (const path of paths) {
      this.#requested.add(path);
      this.#mark(path, 'whole');
    }
  }

  /** Whether a path without a node was listed. */
  isMissing(path: string): boolean {
    return this.#requested.has(path);
  }

  #insert(entry: TreeEntry): void {
    const { path } = entry;
    let node = this.root;
    for (let from = 0; from <= path.length; ) {
      const slash = path.indexOf('/', from);
      const end = slash === -1 ? path.length : slash;
      node = node.grow(path.slice(from, end), path.slice(0, end));
      from = end + 1;
    }
    node.entry ??= entry;
  }

  #mark(path: string, listed: TreeNode['listed']): void {
    let node: TreeNode | undefined = this.root;
    for (const name of path === '' ? [] : path.split('/')) node = node?.child(name);
    if (node && node.listed !== 'whole') node.listed = listed;
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
