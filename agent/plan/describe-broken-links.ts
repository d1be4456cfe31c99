import type { BrokenLink } from './follow-links.ts';
import type { LinkText } from './link-text.ts';

/** Maximum number of links in a message, and of characters of a path in it. */
const SHOWN = { links: 5, characters: 100 };

/** Describes links that can't be followed, with the patterns that exclude them. */
export function describeBrokenLinks(broken: BrokenLink[], texts: ReadonlyMap<string, LinkText>): string {
  const shown = broken.slice(0, SHOWN.links);
  const links = shown.map(({ link, reason }) => {
    const text = texts.get(link.blob)?.text ?? '…';
    return `${visible(link.path)} -> ${visible(text)} (${reason})`;
  });
  const more = broken.length > shown.length ? `, and ${broken.length - shown.length} more` : '';
  const patterns = JSON.stringify(shown.map(({ link }) => excludePattern(link.path)));
  return `symbolic links in the repository can't be followed: ${links.join(', ')}${more}. Correct them, or exclude them with excludePatterns: ${patterns}`;
}

/** Returns the pattern that excludes exactly this path. A pattern can't end in white space. */
export const excludePattern = (path: string): string => `/${path.replace(/[\\*?[\]{}]/g, '\\$&').replace(/\s$/u, '?')}`;

function visible(text: string): string {
  const short = text.length > SHOWN.characters ? `${text.slice(0, SHOWN.characters)}…` : text;
  return /\p{Cc}/u.test(short) ? JSON.stringify(short) : short;
}
