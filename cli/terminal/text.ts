import stringWidth from 'string-width';

/** Characters that control a terminal or disguise text: control characters, changes of direction, and wide fillers. */
const OBEYED = /\p{Cc}|\p{Bidi_Control}|\p{Surrogate}|[\u2028\u2029\u115f\u1160\u3164\uffa0]/gu;

/** Returns an untrusted text in one line without control characters. */
export function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replaceAll(OBEYED, '\ufffd');
}

/** Returns an untrusted line without control characters, but with spaces and tabs. */
export function plainLine(line: string): string {
  return line.replaceAll(OBEYED, (character) => (character === '\t' ? character : '\ufffd'));
}

/** Returns the width of a text without control characters (columns). */
export const widthOf = (text: string): number => stringWidth(text, { countAnsiEscapeCodes: true });

const ASCII = /^[ -~]*$/;
const segmenter = new Intl.Segmenter();

/** Returns the characters as users see them: an emoji or a letter with its accents is one. */
const charactersOf = (text: string): string[] =>
  ASCII.test(text) ? [...text] : Array.from(segmenter.segment(text), ({ segment }) => segment);

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
  for (const character of charactersOf(text.slice(0, limit))) {
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
  let used = 0;
  for (const character of charactersOf(word)) {
    const last = pieces.at(-1) ?? '';
    const more = widthOf(character);
    const isFull = last !== '' && used + more > width;
    if (isFull) pieces.push(character);
    else pieces[pieces.length - 1] = last + character;
    used = isFull ? more : used + more;
  }
  return pieces;
}
