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

/**
 * Gives each name at the beginning of a row of the reference an anchor, and makes it a link to itself, for example
 * `#gatewaysync-spec.git.ref`. It doesn't contain the subsection, so that rows can be regrouped. Long names can break
 * after a dot.
 */
export function anchorRows(md: MarkdownRenderer): void {
  const { escapeHtml } = md.utils;
  md.core.ruler.push('anchor-rows', ({ tokens, env }) => {
    if (!env.relativePath?.startsWith('reference/')) return;
    const used = new Set<string>();
    let heading = '';
    for (const [index, token] of tokens.entries()) {
      if (token.type === 'heading_open' && token.tag === 'h2') heading = token.attrGet('id') ?? '';
      const cell = token.type === 'tr_open' ? (tokens[index + 2]?.children ?? []) : [];
      if (cell[0]?.type !== 'code_inline') continue;
      for (const name of cell.filter(({ type }) => type === 'code_inline')) {
        const id = `${heading}.${name.content}`;
        if (used.has(id)) continue;
        used.add(id);
        const text = escapeHtml(name.content);
        name.type = 'html_inline';
        name.content = `<a class="row-anchor" tabindex="-1" id="${escapeHtml(id)}" href="#${encodeURIComponent(id)}"><code>${text.replaceAll('.', '.<wbr>')}</code></a>`;
      }
    }
  });
}

/** Makes empty headers of tables ordinary cells, because a screen reader would announce a header without a name. */
export function dropEmptyHeaders(md: MarkdownRenderer): void {
  md.core.ruler.push('drop-empty-headers', ({ tokens }) => {
    for (const [index, token] of tokens.entries()) {
      const close = tokens[index + 2];
      if (token.type !== 'th_open' || tokens[index + 1]?.content || close?.type !== 'th_close') continue;
      token.tag = 'td';
      close.tag = 'td';
    }
  });
}
