import { BOUNDS } from '../../shared/api/bounds.ts';
import { NO_REPOSITORY } from '../../shared/api/names.ts';
import { repositoryPath } from '../../shared/domain/git/delivered-repository.ts';

/** A repository as named in a delivery. */
export interface NamedRepository {
  /** Full name, such as `org/repo`. */
  fullName?: string | undefined;
  /** URL to clone it from, or of its page. */
  url?: string | undefined;
}

/**
 * Value of the annotation for a repository: its full name and, if it differs, the path of its URL, separated by a space.
 * `-` for a delivery that names none, undefined for a name that is too long for an annotation. A query, which can contain
 * a token, is removed.
 */
export function recordedRepository({ fullName = '', url = '' }: NamedRepository): string | undefined {
  if (fullName.length > BOUNDS.url || url.length > BOUNDS.url) return undefined;
  const paths = [fullName, url]
    .map((text) => repositoryPath(text.replace(/[?#].*$/s, '')))
    .filter((path) => path !== '');
  const [first = NO_REPOSITORY] = paths;
  const all = [...new Set(paths)].join(' ');
  const recorded = all === '' || all.length > BOUNDS.repository ? first : all;
  return recorded.length > BOUNDS.repository ? undefined : recorded;
}
