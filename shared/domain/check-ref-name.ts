import { BOUNDS } from '../api/bounds.ts';

const forbidden = /[ ~^:?*[\\]|\p{Cc}|\p{Bidi_Control}|\.\.|@\{|\/\/|\p{Surrogate}/u;

/**
 * Whether git accepts the name for a ref, by the rules of git-check-ref-format with `--allow-onelevel`, and beyond
 * them: no leading hyphen, so that no name can be taken for an option, no control character and no change of direction of
 * Unicode, which a terminal would obey, and at most 255 bytes.
 */
export function isValidRefName(name: string): boolean {
  if (name === '' || name === '@' || Buffer.byteLength(name) > BOUNDS.ref) return false;
  if (/^[-/]|[/.]$/.test(name) || forbidden.test(name)) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

/**
 * What to do about a name that a repository doesn't have and that looks like a commit; undefined if it doesn't, and for
 * a hash that is complete.
 */
export function hashAdvice(name: string): string | undefined {
  if (!/^[0-9a-f]{4,64}$/i.test(name) || isCommitHash(name)) return undefined;
  return isCommitHash(name.toLowerCase())
    ? 'write a commit hash in lower case'
    : 'write a commit hash in full, with 40 or 64 digits';
}

/** Whether the text is a full commit hash: SHA-1 or SHA-256, in lower case. */
export function isCommitHash(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}
