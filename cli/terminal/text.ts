/** Characters that control a terminal or disguise text: control characters and changes of direction. */
const OBEYED = /\p{Cc}|\p{Bidi_Control}|\p{Surrogate}|[\u2028\u2029]/gu;

/** Returns an untrusted text in one line without control characters. */
export function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(OBEYED, '\ufffd');
}

/** Returns an untrusted line without control characters, but with spaces and tabs. */
export function plainLine(line: string): string {
  return line.replaceAll(OBEYED, (character) => (character === '\t' ? character : '\ufffd'));
}

/** Ranges of characters that are two columns wide (https://www.unicode.org/reports/tr11/), limited to common ones. */
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

/** Returns the width of a text without control characters (columns). */
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

/** Pads a text with spaces to a width. */
export const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - widthOf(text)));

/** Maximum UTF-16 code units per column: a text can have any number of characters without a width. */
const UNITS = 4;

/** Cuts a text to a width, with … at the end. */
export function cut(text: string, width: number): string {
  const limit = UNITS * width;
  if (text.length <= limit && widthOf(text) <= width) return text;
  let kept = '';
  let used = 1;
  for (const character of text) {
    used += widthOf(character);
    if (used > width || kept.length + character.length >= limit) break;
    kept += character;
  }
  return `${kept}…`;
}

/** Wraps a text at words; longer words are split. */
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

/** Returns the lines of an untrusted text: wrapped on a terminal, otherwise one. */
export const linesOf = (text: string, columns: number | undefined): string[] =>
  columns ? wrap(plain(text), columns) : [plain(text)];

function piecesOf(word: string, width: number): string[] {
  const pieces: string[] = [''];
  for (const character of word) {
    const last = pieces.at(-1) ?? '';
    if (last && widthOf(last) + widthOf(character) > width) pieces.push(character);
    else pieces[pieces.length - 1] = last + character;
  }
  return pieces;
}
