import type { CallCredentials } from '../../shared/io/kubernetes/credentials.ts';
import type { User } from './kubeconfig-entry.ts';

/** Returns the headers of an impersonation (https://kubernetes.io/docs/reference/access-authn-authz/authentication/#user-impersonation). */
export function impersonationHeaders(user: User): CallCredentials['headers'] {
  if (!user.as) return {};
  const extra = Object.entries(user['as-user-extra']).map(([key, values]) => [
    `Impersonate-Extra-${escaped(key)}`,
    values.map(inUtf8),
  ]);
  return {
    'Impersonate-User': inUtf8(user.as),
    ...(user['as-uid'] && { 'Impersonate-Uid': inUtf8(user['as-uid']) }),
    ...(user['as-groups'].length > 0 && { 'Impersonate-Group': user['as-groups'].map(inUtf8) }),
    ...Object.fromEntries(extra),
  };
}

/** Node writes headers in Latin-1, and the API server reads UTF-8. */
const inUtf8 = (text: string): string => Buffer.from(text).toString('latin1');

/** Percent-encodes the characters that a header name can't have, and `%`. */
const escaped = (key: string): string =>
  inUtf8(key).replaceAll(
    /[^\w!#$&'*+.^`|~-]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
