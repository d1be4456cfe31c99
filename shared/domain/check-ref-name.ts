/** Bytes that a ref name may have here: more than any host allows, few enough for an annotation and a command line. */
const MAX_BYTES = 255;

const forbidden = /[ ~^:?*[\\]|\p{Cc}|\p{Bidi_Control}|\.\.|@\{|\/\/|\p{Surrogate}/u;

/**
 * Whether git accepts the name for a ref, by the rules of git-check-ref-format with `--allow-onelevel`, and beyond
 * them: no leading hyphen, so that no name can be taken for an option, no control character and no change of direction of
 * Unicode, which a terminal would obey, and at most 255 bytes.
 */
export function isValidRefName(name: string): boolean {
  if (name === '' || name === '@' || Buffer.byteLength(name) > MAX_BYTES) return false;
  if (/^[-/]|[/.]$/.test(name) || forbidden.test(name)) return false;
  return name.split('/').every((part) => !part.startsWith('.') && !part.endsWith('.lock'));
}

/** Whether the text is a full commit hash: SHA-1 or SHA-256, in lower case. */
export function isCommitHash(text: string): boolean {
  return /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);
}
