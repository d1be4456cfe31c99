const CODE_BLOCKS = /^ *```[\s\S]*?^ *```$/gm;
/** Lines that aren't prose: comments, headings, quotes, tables, images, and the status of a decision. */
const NO_PROSE = /^(<|#|>|\||!|Status:)/;
const MAX_LENGTH = 160;

/** Returns the first sentences of a page, without Markdown, as a description for search engines and previews of links. */
export function describePage(markdown: string): string {
  const paragraphs = markdown
    .replaceAll(CODE_BLOCKS, '')
    .split(/\n{2,}/)
    .map((paragraph) => paragraph.trim());
  const paragraph = paragraphs.find((text) => text !== '' && !NO_PROSE.test(text)) ?? '';
  const plain = paragraph
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/\*\*|`/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/:$/, '.');
  const [first = '', ...sentences] = plain.split(/(?<=[\w)][.?!]) /);
  let description = first;
  for (const sentence of sentences) {
    if (description.length + sentence.length >= MAX_LENGTH) break;
    description += ` ${sentence}`;
  }
  return description;
}
