import { posix } from 'node:path';
import { isWithin, withoutTrailingSlashes } from '../files/relative-path.ts';

/** One mount of a container. */
interface Mount {
  name: string;
  subPath?: string | undefined;
  subPathExpr?: string | undefined;
}

interface MountingContainer {
  name: string;
  restartPolicy?: string | undefined;
  volumeMounts?: readonly Mount[] | null | undefined;
}

/** The mounts of a pod's containers. */
export interface MountingPod {
  containers: readonly MountingContainer[];
  initContainers?: readonly MountingContainer[] | null | undefined;
}

/** A part of the data volume that a container mounts by `subPath` or `subPathExpr`. */
export interface MountedPart {
  container: string;
  /** Path below the directory that the sidecar has; with variables if the mount has a `subPathExpr`. */
  path: string;
}

/**
 * Lists the parts of the data volume, below the directory that the sidecar mounts, that containers next to the sidecar
 * mount by themselves. Such a mount is bound to the file or directory that exists when the container starts: it
 * shows nothing that is put in its place later (https://github.com/kubernetes/kubernetes/issues/50345).
 */
export function mountedParts({ containers, initContainers }: MountingPod, data: Mount): MountedPart[] {
  const running = [...containers, ...(initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')];
  const root = normal(data.subPath);
  return running.flatMap(({ name: container, volumeMounts }) =>
    (volumeMounts ?? []).flatMap((mount) => {
      const path = mount.name === data.name ? pathBelow(root, mount) : '';
      return path === '' ? [] : [{ container, path }];
    }),
  );
}

/** The mounted path below a directory of the volume; empty if it is that directory, or not below it. */
function pathBelow(root: string, { subPath, subPathExpr }: Mount): string {
  const path = normal(subPathExpr || subPath);
  if (isWithin(path, root)) return posix.relative(`/${root}`, `/${path}`);
  const variable = subPathExpr ? path.indexOf('$') : -1;
  return variable >= 0 && root.startsWith(path.slice(0, variable)) ? path.slice(variable) : '';
}

/** Without `.`, `..`, and superfluous slashes; empty is the root of the volume. */
const normal = (path = ''): string => withoutTrailingSlashes(posix.normalize(`/${path}`)).slice(1);

/** An ending as only files have, not `.d`. */
const FILE_NAME = /[^.]\.(?!d$)[a-z]\w{0,9}$/i;

/** Returns whether a container seems to mount a single file, which the sidecar would mount as its directory. */
export function looksLikeFile({ subPath = '', mountPath }: Mount & { mountPath: string }): boolean {
  return FILE_NAME.test(subPath) && FILE_NAME.test(mountPath);
}
