const CODES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36, grey: 90 };

export type Colour = keyof typeof CODES;

/** Colours a text, or returns it unchanged. */
export type Ink = (colour: Colour, text: string) => string;

/** Returns an ink with or without colours. */
export const inkFor = (hasColours: boolean): Ink =>
  hasColours ? (colour, text) => `\u001b[${CODES[colour]}m${text}\u001b[0m` : (_, text) => text;

/** Returns whether to use colours: FORCE_COLOR (https://force-color.org) overrides NO_COLOR (https://no-color.org). */
export function wantsColours(
  { FORCE_COLOR = '', NO_COLOR = '', TERM }: Record<string, string | undefined>,
  isTerminal: boolean,
): boolean {
  if (FORCE_COLOR !== '') return !['0', 'false'].includes(FORCE_COLOR);
  return NO_COLOR === '' && isTerminal && TERM !== 'dumb';
}
