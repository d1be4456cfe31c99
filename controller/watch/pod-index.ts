import type { Change, ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import type { ObservedPod } from './observed-pod.ts';

/** Injected pods by the resource that they belong to. */
export class PodIndex {
  readonly #pods = new Map<ObjectKey, Map<ObjectKey, ObservedPod>>();
  readonly #owners = new Map<ObjectKey, ObjectKey>();

  /** Takes a change of a pod in, and gives the resources that it concerns. */
  update(change: Change<ObservedPod>): ObjectKey[] {
    const owners = new Set<ObjectKey>();
    if (change.previous) this.#remove(change.key, change.previous, owners);
    if (change.type === 'upserted') this.#add(change.key, change.object, owners);
    return [...owners];
  }

  /** The resource that a pod belongs to, by the pod's key. */
  ownerOf(podKey: ObjectKey): ObjectKey | undefined {
    return this.#owners.get(podKey);
  }

  podsOf(owner: ObjectKey): ObservedPod[] {
    return [...(this.#pods.get(owner)?.values() ?? [])];
  }

  #add(key: ObjectKey, pod: ObservedPod, owners: Set<ObjectKey>): void {
    const owner = ownerOf(pod);
    if (!owner) return;
    owners.add(owner);
    this.#owners.set(key, owner);
    const pods = this.#pods.get(owner) ?? new Map<ObjectKey, ObservedPod>();
    this.#pods.set(owner, pods.set(key, pod));
  }

  #remove(key: ObjectKey, pod: ObservedPod, owners: Set<ObjectKey>): void {
    const owner = ownerOf(pod);
    if (!owner) return;
    owners.add(owner);
    this.#owners.delete(key);
    const pods = this.#pods.get(owner);
    pods?.delete(key);
    if (pods?.size === 0) this.#pods.delete(owner);
  }
}

/** A pod that carries the label of injected ones and has no sidecar is no gateway of anybody. */
function ownerOf({ namespace, crName, sidecar }: ObservedPod): ObjectKey | undefined {
  return crName === undefined || sidecar !== 'present' ? undefined : `${namespace}/${crName}`;
}
