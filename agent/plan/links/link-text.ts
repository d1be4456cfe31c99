import { isUtf8 } from 'node:buffer';

/** Text of a link, or the reason for which it leads nowhere. */
export type LinkText = { kind: 'target'; text: string } | { kind: 'broken'; text: string; reason: string };

/** Maximum length of a link's text on Linux (bytes). */
export const MAX_LINK_BYTES = 4095;

/** Reasons for which a link can't be followed. */
export const ABSOLUTE = 'an absolute path';
export const EMPTY = 'its text is empty';
export const TOO_MUCH_TEXT = `its text has more than ${MAX_LINK_BYTES} bytes`;
export const NOT_UTF8 = "its text isn't UTF-8";

/** Returns the text of a link from the content of its blob; undefined if that is larger. */
export function linkText(content: Buffer | undefined): LinkText {
  const text = content?.toString() ?? '…';
  if (!content) return { kind: 'broken', text, reason: TOO_MUCH_TEXT };
  if (text === '') return { kind: 'broken', text, reason: EMPTY };
  if (!isUtf8(content)) return { kind: 'broken', text, reason: NOT_UTF8 };
  return text.startsWith('/') ? { kind: 'broken', text, reason: ABSOLUTE } : { kind: 'target', text };
}
