/** Quotes text for a POSIX shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Quotes text that a shell could interpret, for commands that users copy. */
export const shellWord = (text: string): string => (/^[\w./@:+-]+$/.test(text) ? text : shellQuote(text));
