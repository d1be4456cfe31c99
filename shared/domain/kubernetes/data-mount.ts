interface Mount {
  name: string;
  subPath?: string | undefined;
  subPathExpr?: string | undefined;
  readOnly?: boolean | undefined;
}

interface MountingContainer<M> {
  name: string;
  volumeMounts?: readonly M[] | null | undefined;
}

type MountOf<C> = C extends MountingContainer<infer M> ? M : never;

export type DataMount<C> = { kind: 'found'; container: C; mount: MountOf<C> } | { kind: 'none'; why: string };

/**
 * Finds the mount whose part of the data volume the sidecar has as well; undefined if no container mounts the volume.
 * The first container with write access takes precedence, but a gateway may only read what the agent writes. The mount
 * of the whole volume takes precedence over parts; several parts are ambiguous.
 */
export function dataMountOf<C extends MountingContainer<Mount>>(
  containers: readonly C[],
  volume: string,
): DataMount<C> | undefined {
  const mounting = containers.flatMap((container) =>
    (container.volumeMounts ?? []).flatMap((mount) => (mount.name === volume ? [{ container, mount }] : [])),
  );
  const first = mounting.find(({ mount }) => !mount.readOnly) ?? mounting[0];
  if (!first) return undefined;
  const { container } = first;
  const mounts = mounting.filter((each) => each.container === container).map(({ mount }) => mount);
  const mount = mounts.find(({ subPath, subPathExpr }) => !subPath && !subPathExpr) ?? first.mount;
  const none = (problem: string) => ({ kind: 'none' as const, why: `container ${container.name} mounts ${problem}` });
  if (mount.subPathExpr) return none(`volume ${volume} with subPathExpr, which the sidecar can't resolve; use subPath`);
  if (mount.subPath && mounts.some(({ subPath }) => subPath !== mount.subPath))
    return none(`several parts of volume ${volume}; mount it once, so that the root of its data is clear`);
  return { kind: 'found', container, mount: mount as MountOf<C> };
}
