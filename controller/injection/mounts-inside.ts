import { posix } from 'node:path';
import type { AdmittedPod, Container, VolumeMount } from './admitted-pod.ts';

/**
 * Returns paths in the data volume, as mounted in the sidecar, where containers that run next to it mount something
 * else. The sidecar doesn't see such mounts, and Linux would end them if it removed or replaced the path.
 */
export function mountsInside({ spec }: AdmittedPod, data: VolumeMount): string[] {
  const running = [...spec.containers, ...(spec.initContainers ?? []).filter(isSidecar)];
  const paths = running.flatMap(({ volumeMounts = [] }) => mountedIn(volumeMounts, data.name));
  const root = normal(data.subPath ?? '');
  const below = paths.flatMap((path) => (path.startsWith(root) && path !== root ? [path.slice(root.length, -1)] : []));
  return [...new Set(below)].sort();
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

/** Does the same for one container, from the volume's root. Sorted paths put a directory before its content. */
function mountedIn(mounts: VolumeMount[], volume: string): string[] {
  const sorted = mounts.map((mount) => ({ ...mount, at: normal(mount.mountPath) })).sort(byPath);
  const around: { at: string; from: string }[] = [];
  return sorted.flatMap(({ name, at, subPath = '', subPathExpr }) => {
    while (around.length > 0 && !at.startsWith(around.at(-1)?.at ?? '')) around.pop();
    const outer = around.at(-1);
    if (name === volume && !subPathExpr) around.push({ at, from: normal(subPath) });
    return outer ? [outer.from + at.slice(outer.at.length)] : [];
  });
}

const byPath = (one: { at: string }, other: { at: string }): number =>
  Number(one.at > other.at) - Number(one.at < other.at);

/** Returns a path with a trailing slash and without a leading one; `''` is the root. */
const normal = (path: string): string => posix.normalize(`/${path}/`).slice(1);
