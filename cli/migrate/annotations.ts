/** Annotations about one container, by the end of their names: the API server refuses them without it. */
const ABOUT = /^container\.(?:apparmor|seccomp)\.security\.(?:alpha|beta)\.kubernetes\.io\/(.+)$/;
/** Annotations whose value is a container: kubectl refuses to choose another one. */
const CHOICES = /^kubectl\.kubernetes\.io\/default(-logs|-exec)?-container$/;

/** Names of the annotations of a pod that say something of containers which go. */
export function annotationsOf(
  containers: ReadonlySet<string>,
  annotations: Readonly<Record<string, string>> | null | undefined,
): string[] {
  const named = ([key, value]: [string, string]) => (CHOICES.test(key) ? value : ABOUT.exec(key)?.[1]);
  return Object.entries(annotations ?? {})
    .filter((entry) => containers.has(named(entry) ?? ''))
    .map(([key]) => key);
}
