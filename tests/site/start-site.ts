import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { buildSite, installPackages, site } from '../../scripts/site/run-vitepress.ts';
import type { Scope } from '../support/clean-up.ts';
import { startHttpHost } from '../support/http-host.ts';

const TYPES: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.svg': 'image/svg+xml',
};

/** Builds the site, serves it in the way of GitHub Pages, and returns its address, without a slash at its end. */
export async function startSite(t: Scope): Promise<string> {
  const built = await buildSite([]);
  return await startHttpHost(t, async ({ url = '' }, response) => {
    const { pathname } = new URL(url, 'http://site');
    const name = pathname.endsWith('/') ? `${pathname}index.html` : pathname;
    const file = path.join(built, path.extname(name) ? name : `${name}.html`);
    const content = await readFile(file).catch(() => undefined);
    response.writeHead(content ? 200 : 404, {
      'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream',
    });
    response.end(content);
  });
}

/** A section of a page. */
interface Section {
  /** Path of the page, with the anchor. */
  id: string;
}

/** The parts of VitePress that the search uses. It isn't a package of the product. */
interface VitePress {
  createServer(root: string, options: object): Promise<Server>;
  resolveConfig(root: string): Promise<{ site: { themeConfig: ThemeConfig } }>;
}

interface Server {
  pluginContainer: { load(id: string): Promise<string> };
  close(): Promise<void>;
}

interface ThemeConfig {
  search: { options: { miniSearch: { options: object; searchOptions: object } } };
}

/** Returns the function that searches the site in the way of the browser: with its index, its library, and its options. */
export async function startSearch(t: TestContext): Promise<(query: string) => Section[]> {
  installPackages();
  const { createServer, resolveConfig }: VitePress = await import(
    path.join(site, 'node_modules/vitepress/dist/node/index.js')
  );
  const server = await createServer(site, { server: { ws: false, watch: null } });
  t.after(() => server.close());
  const code = await server.pluginContainer.load('/@localSearchIndexroot');
  const json = JSON.parse(code.replace(/^export default /, ''));
  const { options, searchOptions } = (await resolveConfig(site)).site.themeConfig.search.options.miniSearch;
  const MiniSearch = createRequire(path.join(site, 'package.json'))('minisearch');
  const index = MiniSearch.loadJSON(json, {
    fields: ['title', 'titles', 'text'],
    searchOptions,
    ...Object.fromEntries(Object.entries(options).map(([name, value]) => [name, revived(value)])),
  });
  return (query) => index.search(query);
}

/** Returns a function made from the text of another one, which is all that the browser gets. */
const revived = (value: unknown): unknown =>
  typeof value === 'function' ? new Function(`return ${value.toString()}`)() : value;
