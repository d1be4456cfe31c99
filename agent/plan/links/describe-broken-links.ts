import type { Problem } from '../../../shared/errors.ts';
import type { Unfollowed } from './link-follower.ts';
import type { LinkText } from './link-text.ts';

/** Maximum number of characters of a path in a message, and of the start and the end of a target. */
const SHOWN = { path: 100, start: 20, end: 40 };

/** Maximum number of links that a message names. */
const MAX_NAMED = 5;

/** Describes links that can't be followed, the first few by name. Patterns come first: long messages are truncated. */
export function describeBrokenLinks({ broken, total }: Unfollowed, texts: ReadonlyMap<string, LinkText>): string {
  const named = broken.slice(0, MAX_NAMED);
  const patterns = named.map(({ link }) => JSON.stringify(excludePattern(link.path)));
  const links = named.map(({ link, reason }) => {
    const text = texts.get(link.blob)?.text ?? '…';
    return `${visible(link.path, SHOWN.path)} -> ${visible(text, SHOWN.start, SHOWN.end)} (${visible(reason, reason.length)})`;
  });
  const more = total > named.length ? `, and ${total - named.length} more` : '';
  return `symbolic links in the repository can't be followed; to exclude them, add ${patterns.join(', ')} to excludePatterns: ${links.join(', ')}${more}`;
}

/** Describes a link that can't be delivered as it is. */
export const unkeptLink = (path: string, { text }: LinkText, reason: string): string =>
  `the symbolic link ${visible(path, SHOWN.path)} -> ${visible(text, SHOWN.start, SHOWN.end)} can't be kept (${reason}): exclude it, correct it, or add its target to linkPrefixes`;

/** Returns a problem for each link that can't be followed. */
export const brokenLinkProblems = ({ broken }: Unfollowed, texts: ReadonlyMap<string, LinkText>): Problem[] =>
  broken.map((one) => ({
    key: `link ${one.link.path}`,
    message: describeBrokenLinks({ broken: [one], total: 1 }, texts),
  }));

/** Returns the pattern that excludes exactly this path. A pattern can't end in white space. */
export const excludePattern = (path: string): string => `/${path.replace(/[\\*?[\]{}]/g, '\\$&').replace(/\s$/u, '?')}`;

function visible(text: string, start: number, end = 0): string {
  const short = text.length > start + end ? `${text.slice(0, start)}…${text.slice(text.length - end)}` : text;
  return /\p{Cc}/u.test(short) ? JSON.stringify(short) : short;
}
