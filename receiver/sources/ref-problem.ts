import { BOUNDS } from '../../shared/api/bounds.ts';

/** Maximum number of characters of a ref in a message. */
const SHOWN = 80;
/** Invisible characters, and ones that change the display of others: control, format, and white space except blanks. */
const invisible = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Describes why a ref name is invalid, with its beginning on one line and invisible characters escaped. */
export function refProblem(name: string): string {
  const start = name.slice(0, SHOWN);
  const escaped = JSON.stringify(start).replace(invisible, (character) =>
    Array.from({ length: character.length }, (_, at) => escapeOf(character.charCodeAt(at))).join(''),
  );
  const shown = `the ref ${escaped}${start === name ? '' : '…'} isn't a valid git ref name`;
  if (name === '') return "the ref isn't a valid git ref name: it's empty";
  if (/^\s|\s$/.test(name)) return `${shown}: remove the surrounding white space`;
  if (/\s/.test(name)) return `${shown}: it contains white space`;
  return Buffer.byteLength(name) > BOUNDS.ref ? `${shown}: it has more than ${BOUNDS.ref} bytes` : shown;
}

const escapeOf = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;
