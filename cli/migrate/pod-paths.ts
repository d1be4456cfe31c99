import path from 'node:path/posix';
import type { Container, PodSpec, Volume } from './manifest.ts';

/** A path in a volume. */
export interface Place {
  volume: string;
  /** Relative to the root of the volume; empty for the root itself. */
  path: string;
}

/**
 * Returns the volume and path of a container's path; undefined if no volume is mounted there or the part is unknown.
 */
export function placeOf(container: Container, file: string): Place | undefined {
  const wanted = path.resolve('/', file);
  const mount = mountOf(container, wanted);
  if (!mount || mount.subPathExpr) return undefined;
  const inside = path.relative(path.resolve('/', mount.mountPath), wanted);
  return { volume: mount.name, path: cleaned(path.join(mount.subPath ?? '', inside)) };
}

/** Returns the innermost mount that contains a path of a container. */
export function mountOf(container: Container, file: string) {
  const mounts = (container.volumeMounts ?? []).filter(({ mountPath }) => isInside(mountPath, file));
  return mounts.sort((a, b) => b.mountPath.length - a.mountPath.length)[0];
}

/** Normalizes a relative path; empty for the directory itself. */
export function cleaned(relative: string): string {
  const normal = path.normalize(relative).replace(/^\/+|\/+$/g, '');
  return normal === '.' ? '' : normal;
}

/** Checks whether a path is a directory or below it. */
export function isInside(directory: string, file: string): boolean {
  const relative = path.relative(path.resolve('/', directory), path.resolve('/', file));
  return relative === '' || !/^\.\.(\/|$)/.test(relative);
}

/** A Secret or ConfigMap with a file. */
export interface FileSource {
  kind: 'Secret' | 'ConfigMap';
  name: string;
  key: string;
}

/** Returns the Secret or ConfigMap of a container's file, or undefined. */
export function sourceOf(container: Container, { volumes }: PodSpec, file: string): FileSource | undefined {
  const place = placeOf(container, file);
  const volume = (volumes ?? []).find(({ name }) => name === place?.volume);
  if (!place || !volume) return undefined;
  const sources = filesOf(volume).filter(({ items }) => !items || items.some((item) => item.path === place.path));
  const [source] = sources;
  // With two sources without a list of files, the source is ambiguous.
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
