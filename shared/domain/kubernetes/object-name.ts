const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const labelPattern = new RegExp(`^${label}$`);
const namePattern = new RegExp(`^${label}(?:\\.${label})*$`);

/**
 * Checks whether a namespace name is a DNS label (RFC 1123).
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/
 */
export const isNamespaceName = (text: string): boolean => labelPattern.test(text);

/** Names an object in a namespace. */
export interface ResourceName {
  namespace: string;
  name: string;
}

/** Key of an object in a map, such as `namespace/name`. */
export const keyOf = ({ namespace, name }: ResourceName): string => `${namespace}/${name}`;

/** Splits a key such as `namespace/name`. */
export function splitKey(key: string): ResourceName {
  const [namespace = '', name = ''] = key.split('/');
  return { namespace, name };
}

/** Namespace in a key such as `namespace/name`. */
export const namespaceOf = (key: string): string => key.split('/', 1)[0] ?? '';

/** Checks whether an object name is a DNS subdomain (RFC 1123). Others, such as `..`, are unsafe in a path. */
export const isObjectName = (text: string): boolean => text.length <= 253 && namePattern.test(text);

/** Checks whether an object of that name can exist. */
export const isPossible = ({ namespace, name }: ResourceName): boolean =>
  isNamespaceName(namespace) && isObjectName(name);

/** Maximum length of a UID (characters). The API server creates those of objects, but accepts any text for an owner. */
export const MAX_UID = 64;
