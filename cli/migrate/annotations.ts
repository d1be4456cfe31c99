/** Annotations about one container, named in the suffix. The API server rejects them without the container. */
const ABOUT = /^container\.(?:apparmor|seccomp)\.security\.(?:alpha|beta)\.kubernetes\.io\/(.+)$/;
/** Annotations whose value is a container, which kubectl requires to exist. */
const CHOICES = /^kubectl\.kubernetes\.io\/default(-logs|-exec)?-container$/;

/** Returns the annotations of a pod about removed containers. */
export function annotationsOf(
  containers: ReadonlySet<string>,
  annotations: Readonly<Record<string, string>> | null | undefined,
): string[] {
  const named = ([key, value]: [string, string]) => (CHOICES.test(key) ? value : ABOUT.exec(key)?.[1]);
  return Object.entries(annotations ?? {})
    .filter((entry) => containers.has(named(entry) ?? ''))
    .map(([key]) => key);
}
