import type { Unfollowed } from './link-follower.ts';
import type { LinkText } from './link-text.ts';

/** Maximum number of characters of a path in a message, and of the start and the end of a target. */
const SHOWN = { path: 100, start: 20, end: 40 };

/** Describes links that can't be followed. The patterns come first, because long messages are truncated. */
export function describeBrokenLinks({ broken, total }: Unfollowed, texts: ReadonlyMap<string, LinkText>): string {
  const patterns = broken.map(({ link }) => JSON.stringify(excludePattern(link.path)));
  const links = broken.map(({ link, reason }) => {
    const text = texts.get(link.blob)?.text ?? '…';
    return `${visible(link.path, SHOWN.path)} -> ${visible(text, SHOWN.start, SHOWN.end)} (${visible(reason, reason.length)})`;
  });
  const more = total > broken.length ? `, and ${total - broken.length} more` : '';
  return `symbolic links in the repository can't be followed; to exclude them, add ${patterns.join(', ')} to excludePatterns: ${links.join(', ')}${more}`;
}

/** Returns the pattern that excludes exactly this path. A pattern can't end in white space. */
export const excludePattern = (path: string): string => `/${path.replace(/[\\*?[\]{}]/g, '\\$&').replace(/\s$/u, '?')}`;

function visible(text: string, start: number, end = 0): string {
  const short = text.length > start + end ? `${text.slice(0, start)}…${text.slice(text.length - end)}` : text;
  return /\p{Cc}/u.test(short) ? JSON.stringify(short) : short;
}
