import type { Change, ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** Index of objects by the resource that they belong to. */
export class OwnerIndex<T> {
  readonly #ownerOf: (object: T) => ObjectKey | undefined;
  readonly #objects = new Map<ObjectKey, Map<ObjectKey, T>>();

  constructor(ownerOf: (object: T) => ObjectKey | undefined) {
    this.#ownerOf = ownerOf;
  }

  /** Applies a change of an object. */
  update(change: Change<T>): void {
    if (change.previous) this.#remove(change.key, change.previous);
    if (change.type === 'upserted') this.#add(change.key, change.object);
  }

  ownedBy(owner: ObjectKey): T[] {
    return [...(this.#objects.get(owner)?.values() ?? [])];
  }

  #add(key: ObjectKey, object: T): void {
    const owner = this.#ownerOf(object);
    if (owner === undefined) return;
    const objects = this.#objects.get(owner) ?? new Map<ObjectKey, T>();
    this.#objects.set(owner, objects.set(key, object));
  }

  #remove(key: ObjectKey, object: T): void {
    const owner = this.#ownerOf(object);
    if (owner === undefined) return;
    const objects = this.#objects.get(owner);
    objects?.delete(key);
    if (objects?.size === 0) this.#objects.delete(owner);
  }
}
