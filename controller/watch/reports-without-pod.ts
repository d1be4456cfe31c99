import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** Reports without their pod whose content is kept, in one namespace and in all (each has up to 4 kB). */
const MAX_IN_NAMESPACE = 500;
const MAX = 4_000;

/**
 * Bounds the reports that have no pod: a report may arrive before its pod, because two watches keep no order, and it may
 * outlive it. A tenant can make any number of them, and displaces its own first.
 */
export class ReportsWithoutPod {
  /** Oldest first. */
  readonly #all = new Map<ObjectKey, string>();
  readonly #namespaces = new Map<string, Set<ObjectKey>>();

  /** Adds a report; returns one whose content is one too many, if any. */
  add(key: ObjectKey): ObjectKey | undefined {
    const [namespace = ''] = key.split('/');
    const own = this.#namespaces.get(namespace) ?? new Set();
    this.#namespaces.set(namespace, own.add(key));
    this.#all.set(key, namespace);
    const [oldest] = own.size > MAX_IN_NAMESPACE ? own : this.#all.keys();
    if (oldest === undefined || (own.size <= MAX_IN_NAMESPACE && this.#all.size <= MAX)) return undefined;
    this.delete(oldest);
    return oldest;
  }

  /** Removes a report; one that is added again is the newest. */
  delete(key: ObjectKey): void {
    const namespace = this.#all.get(key);
    if (namespace === undefined) return;
    this.#all.delete(key);
    const own = this.#namespaces.get(namespace);
    own?.delete(key);
    if (own?.size === 0) this.#namespaces.delete(namespace);
  }
}
