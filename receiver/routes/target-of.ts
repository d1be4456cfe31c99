import type { Target } from '../annotations/target.ts';

const pathPattern = /^\/webhook\/((?:[^/?#%]|%[0-9a-fA-F]{2})+)\/((?:[^/?#%]|%[0-9a-fA-F]{2})+)\/?(?:\?|$)/;

/**
 * The resource that a path names, as it is written there; undefined for other paths and where a percent sign escapes
 * nothing. Escapes stay, since no name of a resource has a character that needs one.
 */
export function targetOf(url: string | undefined): Target | undefined {
  const [, namespace, name] = pathPattern.exec(url ?? '') ?? [];
  return namespace !== undefined && name !== undefined ? { namespace, name } : undefined;
}
