import { isUtf8 } from 'node:buffer';

/** Text of a link, or the reason for which it leads nowhere. */
export type LinkText = { kind: 'target'; text: string } | { kind: 'broken'; text: string; reason: string };

/** Maximum length of a link's text on Linux (bytes). */
export const MAX_LINK_BYTES = 4095;

/** Reason for which an absolute link can't be followed. */
export const ABSOLUTE = 'an absolute path';

/** Returns the text of a link from the content of its blob; undefined if that is larger. */
export function linkText(content: Buffer | undefined): LinkText {
  const text = content?.toString() ?? '…';
  if (!content) return { kind: 'broken', text, reason: `its text has more than ${MAX_LINK_BYTES} bytes` };
  if (text === '') return { kind: 'broken', text, reason: 'its text is empty' };
  if (!isUtf8(content)) return { kind: 'broken', text, reason: "its text isn't UTF-8" };
  return text.startsWith('/') ? { kind: 'broken', text, reason: ABSOLUTE } : { kind: 'target', text };
}
