import { createHash } from 'node:crypto';
import { hasAgentName, isWithin, joinPath } from '../../../shared/domain/files/relative-path.ts';
import { directoriesOf } from '../directories.ts';
import { ABSOLUTE, type LinkText } from './link-text.ts';

/** A symbolic link to deliver as it is (`links: keep`). */
interface KeptLink {
  /** Its path on the data volume. */
  path: string;
  text: LinkText;
  /** The directory that it must not leave: the root of the volume, or an atomic destination. */
  within: string;
  /** Absolute paths that it can lead to or below. */
  prefixes: readonly string[];
}

/**
 * Returns why a link must not be delivered; undefined if it can be. `..` is accepted only at the beginning: behind
 * another name, which can be a link as well, it can lead anywhere.
 */
export function keptLinkProblem({ path, text: { text, ...rest }, within, prefixes }: KeptLink): string | undefined {
  if (rest.kind === 'broken' && rest.reason !== ABSOLUTE) return rest.reason;
  if (text.includes('\0')) return 'its text contains a NUL';
  const isAbsolute = text.startsWith('/');
  const parts = text.split('/').filter((part) => part !== '' && part !== '.');
  const inside = parts.findIndex((part) => part !== '..');
  const up = inside === -1 ? parts.length : inside;
  if (parts.slice(up).includes('..') || (isAbsolute && up > 0)) return 'it contains .. behind another name';
  if (isAbsolute) {
    const target = `/${parts.join('/')}`;
    return prefixes.some((prefix) => isWithin(target, prefix)) ? undefined : `${ABSOLUTE} outside of linkPrefixes`;
  }
  const above = directoriesOf(path);
  const base = above.at(above.length - up - 1) ?? '';
  const leaves = up > above.length || (within !== '' && !isWithin(up === above.length ? '' : base, within));
  if (leaves) return within === '' ? 'it leaves the data volume' : `it leaves the atomic destination ${within}`;
  const target = joinPath(up === above.length ? '' : base, parts.slice(up).join('/'));
  return hasAgentName(target) ? "it leads to the agent's files" : undefined;
}

/** Hash that identifies a link by its text. It differs from that of a file with this content. */
export const linkHash = (text: string): string => createHash('sha256').update(`symbolic link\0${text}`).digest('hex');
