import { BOUNDS } from '../../shared/api/bounds.ts';

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
  return Buffer.byteLength(name) > BOUNDS.ref ? `${shown}: it has more than ${BOUNDS.ref} bytes` : shown;
}

const escapeOf = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
