import { directoriesOf } from './directories.ts';
import { foldName } from './name-collisions.ts';
import type { DesiredTree } from './plan-input.ts';
import type { NameFolding } from './volume-traits.ts';

/**
 * Paths at which the gateway's pod mounts other volumes inside the data volume, and the agent's directory. The agent
 * doesn't see these mounts, and Linux unmounts them in all other containers if their mount point is removed or replaced.
 */
export class MountedPaths {
  readonly #points: Map<string, string>;
  /** The directories above them, each with one of them. */
  readonly #above = new Map<string, string>();
  readonly #fold: (path: string) => string;

  readonly #own: string | undefined;

  constructor(paths: readonly string[], folding: NameFolding = { case: false, unicode: false }, own?: string) {
    this.#fold = (path) => foldName(path, folding);
    this.#own = own;
    this.#points = new Map([...paths, ...(own === undefined ? [] : [own])].map((path) => [this.#fold(path), path]));
    for (const [folded, path] of this.#points)
      for (const directory of directoriesOf(folded)) this.#above.set(directory, path);
  }

  /** Checks whether the path is one of them, is inside one, or contains one. */
  touches(path: string): boolean {
    return this.#pointAt(path) !== undefined;
  }

  /** Returns a problem for each mount that a file or a link can't be delivered to. */
  problems({ files }: DesiredTree, links: readonly { path: string }[] = []): string[] {
    const problems = new Map<string, string>();
    for (const path of [...links.map((link) => link.path), ...files.keys()]) {
      const point = this.#pointAt(path);
      if (point !== undefined && !problems.has(point)) problems.set(point, this.#problem(path, point));
    }
    return [...problems.values()];
  }

  #pointAt(path: string): string | undefined {
    if (this.#points.size === 0) return undefined;
    const folded = this.#fold(path);
    const covering = [...directoriesOf(folded), folded].find((candidate) => this.#points.has(candidate));
    return covering === undefined ? this.#above.get(folded) : this.#points.get(covering);
  }

  #problem(path: string, point: string): string {
    const reason =
      point === this.#own
        ? `the agent keeps its own files at ${point} in the data volume`
        : `the gateway's pod mounts another volume at ${point} in the data volume`;
    return `${reason}, so ${path} cannot be delivered: map it to another path, or exclude it`;
  }
}
