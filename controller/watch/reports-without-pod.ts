import { namespaceOf } from '../../shared/domain/kubernetes/object-name.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';

/** Maximum number of reports without their pod whose content is kept; each has up to 7 kB. */
const MAX = 4_000;

/**
 * Limits reports without a pod. A report can arrive before its pod, because two watches have no common order, and can
 * outlive it. The namespace with the most reports loses its oldest first.
 */
export class ReportsWithoutPod {
  /** Oldest first. */
  readonly #namespaces = new Map<string, Set<ObjectKey>>();
  #size = 0;

  /** Adds a report as the newest one; returns a report whose content must be dropped, if there are too many. */
  add(key: ObjectKey): ObjectKey | undefined {
    this.delete(key);
    const namespace = namespaceOf(key);
    let fullest = this.#namespaces.get(namespace) ?? new Set();
    this.#namespaces.set(namespace, fullest.add(key));
    this.#size += 1;
    if (this.#size <= MAX) return undefined;
    for (const keys of this.#namespaces.values()) if (keys.size > fullest.size) fullest = keys;
    const [oldest = key] = fullest;
    this.delete(oldest);
    return oldest;
  }

  delete(key: ObjectKey): void {
    const keys = this.#namespaces.get(namespaceOf(key));
    if (!keys?.delete(key)) return;
    this.#size -= 1;
    if (keys.size === 0) this.#namespaces.delete(namespaceOf(key));
  }
}
