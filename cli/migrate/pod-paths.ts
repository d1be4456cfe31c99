import path from 'node:path/posix';
import type { Container, PodSpec, Volume } from './manifest.ts';

/** A place in a volume. */
export interface Place {
  volume: string;
  /** Relative to the root of the volume; empty for the root. */
  path: string;
}

/** Where a path of a container is; undefined where no volume is mounted there, or only Kubernetes knows which part. */
export function placeOf(container: Container, file: string): Place | undefined {
  const wanted = path.resolve('/', file);
  const mount = mountOf(container, wanted);
  if (!mount || mount.subPathExpr) return undefined;
  const inside = path.relative(path.resolve('/', mount.mountPath), wanted);
  return { volume: mount.name, path: cleaned(path.join(mount.subPath ?? '', inside)) };
}

/** The innermost mount that holds a path of a container. */
export function mountOf(container: Container, file: string) {
  const mounts = (container.volumeMounts ?? []).filter(({ mountPath }) => isInside(mountPath, file));
  return mounts.sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
}

/** A relative path without dots and slashes at its ends; empty for the folder itself. */
export function cleaned(relative: string): string {
  const normal = path.normalize(relative).replace(/^\/+|\/+$/g, '');
  return normal === '.' ? '' : normal;
}

/** Whether a path is a folder or something below it. */
export function isInside(folder: string, file: string): boolean {
  const relative = path.relative(path.resolve('/', folder), path.resolve('/', file));
  return relative === '' || !/^\.\.(\/|$)/.test(relative);
}

/** What has a file in it: a Secret, or a ConfigMap. */
export interface FileSource {
  kind: 'Secret' | 'ConfigMap';
  name: string;
  key: string;
}

/** Which Secret or ConfigMap a file of a container comes from; undefined where it is neither. */
export function sourceOf(container: Container, { volumes }: PodSpec, file: string): FileSource | undefined {
  const place = placeOf(container, file);
  const volume = (volumes ?? []).find(({ name }) => name === place?.volume);
  if (!place || !volume) return undefined;
  const sources = filesOf(volume).filter(({ items }) => !items || items.some((item) => item.path === place.path));
  const [source] = sources;
  // Two sources without a list of their files: nobody knows which of them has it.
  if (!source || (sources.length > 1 && !source.items)) return undefined;
  const key = source.items?.find((item) => item.path === place.path)?.key ?? place.path;
  return key.includes('/') || key === '' ? undefined : { kind: source.kind, name: source.name, key };
}

interface Files {
  kind: FileSource['kind'];
  name: string;
  items: { key: string; path: string }[] | null | undefined;
}

function filesOf({ secret, configMap, projected }: Volume): Files[] {
  const all = [
    { kind: 'Secret' as const, name: secret?.secretName, items: secret?.items },
    { kind: 'ConfigMap' as const, name: configMap?.name, items: configMap?.items },
    ...(projected?.sources ?? []).flatMap((each) => [
      { kind: 'Secret' as const, name: each.secret?.name, items: each.secret?.items },
      { kind: 'ConfigMap' as const, name: each.configMap?.name, items: each.configMap?.items },
    ]),
  ];
  return all.flatMap(({ name, ...files }) => (name === undefined ? [] : [{ name, ...files }]));
}

/** The part of the data volume that the sidecar will mount: that of the container which the injector chooses. */
export type DataRoot = { kind: 'found'; container: Container; path: string } | { kind: 'none'; why: string };

/** Finds it among the containers that stay, by the rules of the injector. */
export function dataRootOf(containers: readonly Container[], volume: string): DataRoot {
  const mounting = containers.flatMap((container) =>
    (container.volumeMounts ?? []).flatMap((mount) => (mount.name === volume ? [{ container, mount }] : [])),
  );
  const chosen = (mounting.find(({ mount }) => !mount.readOnly) ?? mounting[0])?.container;
  if (!chosen) return { kind: 'none', why: `no other container mounts its volume ${volume}` };
  const mounts = mounting.filter(({ container }) => container === chosen).map(({ mount }) => mount);
  const mount = mounts.find(({ subPath, subPathExpr }) => !subPath && !subPathExpr) ?? mounts[0];
  if (mount?.subPathExpr)
    return { kind: 'none', why: `container ${chosen.name} mounts volume ${volume} with subPathExpr: use subPath` };
  if (mount?.subPath && mounts.some(({ subPath }) => subPath !== mount.subPath))
    return { kind: 'none', why: `container ${chosen.name} mounts several parts of volume ${volume}: mount it once` };
  return { kind: 'found', container: chosen, path: cleaned(mount?.subPath ?? '') };
}
