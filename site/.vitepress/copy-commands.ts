import type { MarkdownOptions } from 'vitepress';
import { partsOf } from '../../scripts/site/console-commands.ts';

type Transformer = NonNullable<MarkdownOptions['codeTransformers']>[number];
type Element = Parameters<NonNullable<Transformer['code']>>[0];

/** The copy button omits elements with this class. */
const NOT_COPIED = 'vp-copy-ignore';

/** Keeps prompts and output of `console` blocks out of the text that the copy button copies. */
export const copyCommands: Transformer = {
  name: 'copy-commands',
  code(code) {
    if (this.options.lang !== 'console') return;
    const parts = partsOf(this.source.split('\n'));
    code.children = this.lines.flatMap((line, index) => {
      const end: Element['children'] = index < this.lines.length - 1 ? [{ type: 'text', value: '\n' }] : [];
      if (parts[index] === 'prompt') hidePrompt(line);
      return parts[index] === 'output' ? [notCopied([line, ...end])] : [line, ...end];
    });
  },
};

/** Separates the prompt from the first token, which also contains the beginning of the command. */
function hidePrompt(line: Element): void {
  const [token] = line.children;
  const [text] = token?.type === 'element' ? token.children : [];
  if (text?.type !== 'text' || !text.value.startsWith('$ ')) return;
  text.value = text.value.slice(2);
  line.children.unshift(notCopied([{ type: 'text', value: '$ ' }]));
}

const notCopied = (children: Element['children']): Element => ({
  type: 'element',
  tagName: 'span',
  properties: { class: NOT_COPIED },
  children,
});
