import { BOUNDS } from '../../api/bounds.ts';

const forbidden = /[ ~^:?*[\\]|\p{Cc}|\p{Bidi_Control}|\.\.|@\{|\/\/|\p{Surrogate}/u;

/**
 * Checks a ref name with the rules of `git check-ref-format --allow-onelevel`. Also rejects a leading hyphen, which could
 * start an option, characters that affect a terminal, and more than 255 bytes.
 */
export function isValidRefName(name: string): boolean {
  if (name === '' || name === '@' || Buffer.byteLength(name) > BOUNDS.ref) return false;
  if (/^[-/]|[/.]$/.test(name) || forbidden.test(name)) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Advice for a missing ref whose name looks like an incomplete commit hash. */
export function hashAdvice(name: string): string | undefined {
  if (!/^[0-9a-f]{4,64}$/i.test(name) || isCommitHash(name)) return undefined;
  return isCommitHash(name.toLowerCase())
    ? 'write a commit hash in lower case'
    : 'write a commit hash in full, with 40 or 64 digits';
}

/** Checks whether the text is a full commit hash: SHA-1 or SHA-256, in lower case. */
export function isCommitHash(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}
