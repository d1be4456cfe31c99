import type { Change, ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { type ObservedPod, ownerOf } from './observed-pod.ts';

/** Index of injected pods by their resource. */
export class PodIndex {
  readonly #pods = new Map<ObjectKey, Map<ObjectKey, ObservedPod>>();

  /** Applies a change of a pod. */
  update(change: Change<ObservedPod>): void {
    if (change.previous) this.#remove(change.key, change.previous);
    if (change.type === 'upserted') this.#add(change.key, change.object);
  }

  podsOf(owner: ObjectKey): ObservedPod[] {
    return [...(this.#pods.get(owner)?.values() ?? [])];
  }

  #add(key: ObjectKey, pod: ObservedPod): void {
    const owner = ownerOf(pod);
    if (!owner) return;
    const pods = this.#pods.get(owner) ?? new Map<ObjectKey, ObservedPod>();
    this.#pods.set(owner, pods.set(key, pod));
  }

  #remove(key: ObjectKey, pod: ObservedPod): void {
    const owner = ownerOf(pod);
    if (!owner) return;
    const pods = this.#pods.get(owner);
    pods?.delete(key);
    if (pods?.size === 0) this.#pods.delete(owner);
  }
}
