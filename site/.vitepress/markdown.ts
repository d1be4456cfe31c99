import type { MarkdownRenderer } from 'vitepress';

/** Renders blocks of Mermaid as the component that draws them in the browser. */
export function drawMermaid(md: MarkdownRenderer): void {
  const { fence } = md.renderer.rules;
  md.renderer.rules.fence = (...args) => {
    const [tokens, index] = args;
    const { info = '', content = '' } = tokens[index] ?? {};
    if (info.trim() !== 'mermaid') return fence?.(...args) ?? '';
    return `<MermaidDiagram source="${encodeURIComponent(content)}" />`;
  };
}

/** Keeps Vue from evaluating the braces of templates such as `{{ .GatewayName }}`. */
export function escapeBraces(md: MarkdownRenderer): void {
  for (const rule of ['text', 'code_inline'] as const) {
    const render = md.renderer.rules[rule];
    md.renderer.rules[rule] = (...args) => render?.(...args).replaceAll('{{', '&#123;&#123;') ?? '';
  }
}

/** Replaces the targets of links, which are paths in the checkout, with those on the site. */
export function rewriteLinks(md: MarkdownRenderer, targetOf: (link: string, file: string) => string): void {
  md.core.ruler.push('rewrite-links', ({ tokens, env }) => {
    for (const link of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'link_open')) {
      const href = link.attrGet('href');
      // The search index is built without the path of the file, and needs no links.
      if (href && env.realPath) link.attrSet('href', targetOf(decodeURI(href), env.realPath));
    }
  });
}
