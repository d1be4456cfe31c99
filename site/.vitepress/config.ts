import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type HeadConfig } from 'vitepress';
import { anchorOf, filesWithoutPage, pageFor, pathOfPage, REPOSITORY, targetOf } from '../../scripts/site/addresses.ts';
import { describePage } from '../../scripts/site/describe-page.ts';
import { readSidebar } from '../../scripts/site/sidebar.ts';
import { SITE } from '../../shared/docs-site.ts';
import { copyCommands } from './copy-commands.ts';
import { home } from './home.ts';
import { anchorRows, drawMermaid, dropEmptyHeaders, escapeBraces, rewriteLinks } from './markdown.ts';
import { searchOptions } from './search.ts';

const checkout = fileURLToPath(new URL('../..', import.meta.url));

/** A release such as `v1.2.3`, or `next`. Empty outside of the published site, which has a directory for each. */
const version = process.env.DOCS_VERSION ?? '';
const ref = version.startsWith('v') ? version : 'main';
/** Address of these pages when they are published, without a slash at its end. */
const address = `${SITE}/${version || 'next'}`;
const siteBase = version ? `${new URL(SITE).pathname}/` : '/';

const description = 'Delivers configuration files from git to the pods that read them';

/** Pages with tables that need more space than text. */
const WIDE_PAGES = [
  'explanation/comparison.md',
  'reference/api-reference.md',
  'reference/chart-values.md',
  'reference/conditions.md',
  'reference/agent-reasons.md',
];

export default defineConfig({
  title: 'stoker-operator',
  description,
  lang: 'en-US',
  base: version ? `${siteBase}${version}/` : '/',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${version ? `${siteBase}${version}` : ''}/icon.svg` }]],
  srcDir: checkout,
  srcExclude: filesWithoutPage(),
  rewrites: (file) => pageFor(file) ?? file,
  cleanUrls: true,
  markdown: {
    // GitHub has no such syntax.
    attrs: { disable: true },
    anchor: { slugify: anchorOf },
    languageAlias: { conf: 'nginx', haproxy: 'ini', promql: 'sql' },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    codeTransformers: [copyCommands],
    config: (md) => {
      md.use(drawMermaid).use(escapeBraces).use(anchorRows).use(dropEmptyHeaders);
      md.use(rewriteLinks, (link: string, file: string) => targetOf(link, path.relative(checkout, file), ref));
    },
  },
  transformPageData: ({ relativePath, filePath }) => {
    if (relativePath === 'index.md') {
      const { name, text, tagline } = home.hero;
      return { frontmatter: home, title: name, titleTemplate: text, description: tagline };
    }
    const frontmatter = WIDE_PAGES.includes(relativePath) ? { pageClass: 'wide-page' } : {};
    return { frontmatter, description: describePage(readFileSync(path.join(checkout, filePath), 'utf8')) };
  },
  transformHead: ({ pageData, title, description }) => [
    // VitePress doesn't escape the one that it writes itself.
    ['meta', { name: 'description', content: description }],
    ...Object.entries({
      type: 'website',
      site_name: 'stoker-operator',
      title,
      description,
      url: `${address}${pathOfPage(pageData.relativePath)}`,
      image: `${address}/overview.png`,
    }).map(([name, content]): HeadConfig => ['meta', { property: `og:${name}`, content }]),
  ],
  sitemap: { hostname: `${address}/` },
  vite: {
    publicDir: path.join(checkout, 'site/public'),
    plugins: [
      {
        // Pages are outside of the directory with the packages of the site. VitePress does this for the browser only.
        name: 'vue-of-the-site',
        enforce: 'pre',
        resolveId(id, importer, options) {
          if (!options.ssr || !/^vue(\/server-renderer)?$/.test(id) || !importer?.includes('.md')) return null;
          return this.resolve(id, path.join(checkout, 'site/package.json'), { ...options, skipSelf: true });
        },
      },
    ],
    // Vite would otherwise bundle the entry points of the programs when it looks for dependencies.
    optimizeDeps: { entries: [] },
    server: { watch: { ignored: ['!**/{docs,chart,examples,site}/**', '**/{tests,dist}/**'] } },
    define: { __SITE_BASE__: JSON.stringify(siteBase), __DOCS_VERSION__: JSON.stringify(version) },
    // The theme and the search index are larger than Vite expects of a web application.
    build: { chunkSizeWarningLimit: 3_000 },
  },
  themeConfig: {
    logo: '/icon.svg',
    search: { provider: 'local', options: searchOptions },
    nav: [
      { text: 'Get started', link: '/tutorials/getting-started' },
      { text: 'Compare', link: '/explanation/comparison' },
      { text: 'Fix a problem', link: '/how-to/find-out-what-is-wrong' },
      { text: 'Reference', link: '/reference/api-reference' },
      { component: 'VersionSwitcher' },
    ],
    sidebar: readSidebar(ref),
    outline: { level: [2, 3] },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    editLink: { pattern: `${REPOSITORY}/edit/main/:path`, text: 'Edit this page on GitHub' },
    footer: { message: `Apache-2.0. <a href="${REPOSITORY}/issues">Report a problem</a>` },
  },
});
