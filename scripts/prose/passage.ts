/** Kinds of text. */
export type Kind = 'page' | 'chart' | 'message' | 'doc comment' | 'comment' | 'identifier';

/** A paragraph, literal, comment or identifier. Lines of `text` are lines of the file, without markers and code. */
export interface Passage {
  file: string;
  kind: Kind;
  /** Line of the file where the text begins, from 1. */
  line: number;
  text: string;
}

/** Returns the line of an offset, from 1. */
export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

/** Replaces `code` in a sentence by a placeholder, so that the sentence around it can be read. */
export const withoutCode = (text: string): string =>
  text.replaceAll(/``[^`]+``|`[^`]+`/g, (code) => `_${code.replaceAll(/[^\n]/g, '')}`);

export const wordsIn = (text: string): number => text.match(/[A-Za-z][A-Za-z'’-]*/g)?.length ?? 0;
