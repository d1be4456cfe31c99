import type { Target } from '../domain/target.ts';

const pathPattern = /^\/webhook\/([^/?#]+)\/([^/?#]+)\/?(?:\?|$)/;

/**
 * The resource that a path names, as it is written there; undefined for other paths. Escapes stay, since no name of a
 * resource has a character that needs one.
 */
export function targetOf(url: string | undefined): Target | undefined {
  const [, namespace, name] = pathPattern.exec(url ?? '') ?? [];
  return namespace !== undefined && name !== undefined ? { namespace, name } : undefined;
}
