import { type Passage, withoutCode } from './passage.ts';

const blank = (text: string) => text.replaceAll(/[^\n]/g, '');

/** First lines of pages that `npm run generate` writes: their text is checked at its source. */
const generated = /^<!-- (?:Generated|Made) .*npm run generate/;

/** Begins a paragraph: a heading, an item of a list, a row of a table, or a line after an empty one. */
const beginning = /^\s*(?:#|[-*+] |\d+\. |\||>|$)/;

/** Reads the paragraphs of a Markdown page, without code, comments, and the targets of links. */
export function readPage(file: string, source: string): Passage[] {
  if (generated.test(source)) return [];
  const prose = withoutCode(
    source
      .replace(/^---\n[\s\S]*?\n---$/m, blank)
      .replaceAll(/^( *)(```+)[^\n]*\n[\s\S]*?^\1\2$/gm, blank)
      .replaceAll(/(?<=\n\n)(?: {4}.*\n)+/g, blank)
      .replaceAll(/<!--[\s\S]*?-->/g, blank)
      .replaceAll(/\]\([^)\s]+\)/g, ']')
      .replaceAll(/^(\[[^\]]+\]): .*$/gm, '$1'),
  );
  const passages: Passage[] = [];
  prose.split('\n').forEach((line, index) => {
    const last = passages.at(-1);
    const text = line.replace(/^\s*(?:[-*+]|\d+\.|>)\s+/, '').trim();
    if (last?.text && !beginning.test(line)) last.text += `\n${text}`;
    else passages.push({ file, kind: 'page', line: index + 1, text });
  });
  return passages.filter(({ text }) => text !== '');
}
