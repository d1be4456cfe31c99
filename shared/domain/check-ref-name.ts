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

/** Characters of a ref that a message shows. */
const SHOWN = 80;
/** What can't be seen, or changes how the rest looks: control and format characters, and any white space but a blank. */
const invisible = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Says why a name is not valid for a ref, and shows its beginning on one line, with escapes for what can't be seen. */
export function refProblem(name: string): string {
  const start = name.slice(0, SHOWN);
  const escaped = JSON.stringify(start).replace(invisible, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeOf(character.charCodeAt(at))).join(''),
  );
  const shown = `the ref ${escaped}${start === name ? '' : '…'} is not a valid git ref name`;
  if (name === '') return 'the ref is not a valid git ref name: it is empty';
  if (/^\s|\s$/.test(name)) return `${shown}: remove the white space around it`;
  if (/\s/.test(name)) return `${shown}: it holds white space`;
  return Buffer.byteLength(name) > MAX_BYTES ? `${shown}: it has more than ${MAX_BYTES} bytes` : shown;
}

const escapeOf = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

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
