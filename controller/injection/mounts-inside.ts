import { posix } from 'node:path';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';

/**
 * Paths in the data volume, as the sidecar mounts it, at which containers that run next to the sidecar mount something
 * else. The sidecar does not see such mounts, and Linux would end them if it removed or replaced what they lie on.
 */
export function mountsInside({ spec }: AdmittedPod, data: VolumeMount): string[] {
  const running = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
  const paths = running.flatMap(({ volumeMounts = [] }) => mountedIn(volumeMounts, data.name));
  const root = normal(data.subPath ?? '');
  const below = paths.flatMap((path) => (path.startsWith(root) && path !== root ? [path.slice(root.length, -1)] : []));
  return [...new Set(below)].sort();
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

/** The same in one container, from the root of the volume. In the order of paths what lies in a folder follows it. */
function mountedIn(mounts: VolumeMount[], volume: string): string[] {
  const sorted = mounts.map((mount) => ({ ...mount, at: normal(mount.mountPath) })).sort(byPlace);
  const around: { at: string; from: string }[] = [];
  return sorted.flatMap(({ name, at, subPath = '', subPathExpr }) => {
    while (around.length > 0 && !at.startsWith(around.at(-1)?.at ?? '')) around.pop();
    const outer = around.at(-1);
    if (name === volume && !subPathExpr) around.push({ at, from: normal(subPath) });
    return outer ? [outer.from + at.slice(outer.at.length)] : [];
  });
}

const byPlace = (one: { at: string }, other: { at: string }): number =>
  Number(one.at > other.at) - Number(one.at < other.at);

/** A path that ends in a slash, and none at its start; `''` is the root. */
const normal = (path: string): string => posix.normalize(`/${path}/`).slice(1);
