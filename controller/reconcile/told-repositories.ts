import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** Repositories remembered for one resource. */
const MAX_REPOSITORIES = 100;

/** Remembers which foreign repositories a resource has had an event about: one event for each is enough. */
export class ToldRepositories {
  readonly #told = new Map<ObjectKey, Set<string>>();

  /** Notes a repository; false if it was noted before. */
  add(key: ObjectKey, repository: string): boolean {
    const told = this.#told.get(key) ?? new Set();
    if (told.has(repository)) return false;
    if (told.size >= MAX_REPOSITORIES) told.clear();
    this.#told.set(key, told.add(repository));
    return true;
  }

  forget(key: ObjectKey): void {
    this.#told.delete(key);
  }
}
