import { existsSync, globSync, statSync } from 'node:fs';
import path from 'node:path';
import manifest from '../../package.json' with { type: 'json' };
import { docsOf } from '../../shared/docs-site.ts';

const checkout = path.join(import.meta.dirname, '../..');

/** The repository on GitHub, for links to files that aren't pages. */
export const REPOSITORY = 'https://github.com/stoker-operator/stoker-operator';

/** Pages of the site outside of `docs/`, with their files on the site. */
const OTHER_PAGES: Record<string, string> = {
  'CHANGELOG.md': 'changelog.md',
  'CONTRIBUTING.md': 'contributing/index.md',
  'SECURITY.md': 'contributing/security-policy.md',
  'chart/README.md': 'reference/chart-values.md',
};

/** Returns the file on the site for a file in the checkout; undefined if it isn't a page. */
export function pageFor(file: string): string | undefined {
  if (!file.endsWith('.md')) return undefined;
  const page =
    OTHER_PAGES[file] ??
    file
      .match(/^(?:docs\/(.+)|(examples\/(?:[^/]+\/)?README\.md))$/)
      ?.slice(1)
      .join('');
  return page?.replace(/(^|\/)README\.md$/, '$1index.md');
}

/** Lists the Markdown files of the checkout that aren't pages. */
export const filesWithoutPage = (): string[] =>
  globSync('**/*.md', { cwd: checkout, exclude: (name) => /(^|\/)(node_modules|\.git|dist)$/.test(name) }).filter(
    (file) => !pageFor(file),
  );

/** Returns the path of a page on the site, for example `/how-to/senders/` or `/reference/alerts`. */
export const pathOfPage = (page: string): string => `/${page.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '')}`;

/**
 * Returns the target on the site for a link in a file of the checkout: the path of a page, or the URL on GitHub of
 * another file at a git ref. A link to this version of the site, as the README of the chart has them, stays in the version
 * that is built. Throws an error if the file doesn't exist.
 */
export function targetOf(link: string, file: string, ref: string): string {
  const published = docsOf(manifest.version);
  if (link.startsWith(`${published}/`)) return link.slice(published.length);
  if (/^(?:[a-z]+:|#)/.test(link)) return link;
  const [name = '', anchor] = link.split('#');
  const target = path.posix.join(path.posix.dirname(file), name).replace(/\/$/, '');
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  const absolute = path.join(checkout, target);
  if (!existsSync(absolute)) throw new Error(`${file}: ${link}: there is no ${target}`);
  const isDirectory = statSync(absolute).isDirectory();
  const page = pageFor(isDirectory ? `${target}/README.md` : target);
  if (page && (!isDirectory || existsSync(path.join(absolute, 'README.md')))) return `${pathOfPage(page)}${suffix}`;
  return `${REPOSITORY}/${isDirectory ? 'tree' : 'blob'}/${ref}/${target}${suffix}`;
}

/** Returns the anchor that GitHub gives to a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
    .replaceAll(' ', '-');
