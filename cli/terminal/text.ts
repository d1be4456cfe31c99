/** What a terminal would obey, or what would make a line look like another: controls, and changes of direction. */
const OBEYED = /\p{Cc}|\p{Bidi_Control}|\p{Surrogate}|[\u2028\u2029]/gu;

/** A text of a tenant, in one line, that moves no cursor and paints nothing. */
export function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(OBEYED, '\ufffd');
}

/** A line of a tenant's file with its spaces and tabs, that moves no cursor and paints nothing. */
export function plainLine(line: string): string {
  return line.replaceAll(OBEYED, (character) => (character === '\t' ? character : '\ufffd'));
}

/** Ranges of characters that take two columns (https://www.unicode.org/reports/tr11/), as far as they are in use. */
const WIDE: readonly [first: number, last: number][] = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff01, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
];
const INVISIBLE = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ASCII = /^[ -~]*$/;

/** Columns that a text without controls takes on a terminal. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += widthOfCharacter(character);
  return width;
}

function widthOfCharacter(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0xad) return 1;
  if (INVISIBLE.test(character)) return 0;
  return WIDE.some(([first, last]) => code >= first && code <= last) ? 2 : 1;
}

/** The text with spaces up to a width. */
export const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** The text as far as it fits, with … where something is missing. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Breaks a text between words into lines of a width at most; a longer word is cut into pieces. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const joined = line ? `${line} ${word}` : word;
    if (widthOf(joined) <= width) {
      line = joined;
      continue;
    }
    if (line) lines.push(line);
    const pieces = piecesOf(word, width);
    line = pieces.pop() ?? '';
    for (const piece of pieces) lines.push(piece);
  }
  return [...lines, line];
}

function piecesOf(word: string, width: number): string[] {
  const pieces: string[] = [''];
  for (const character of word) {
    const last = pieces.at(-1) ?? '';
    if (last && widthOf(last) + widthOf(character) > width) pieces.push(character);
    else pieces[pieces.length - 1] = last + character;
  }
  return pieces;
}
