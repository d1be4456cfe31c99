import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import semver from 'semver';
import manifest from '../../package.json' with { type: 'json' };
import { SITE } from '../../shared/docs-site.ts';
import { REPOSITORY } from './addresses.ts';
import { buildSite } from './run-vitepress.ts';

/** Name of the file of a release that contains its directory of the site. */
export const SITE_ARCHIVE = 'site.tar.gz';

/** Returns the tags of releases, the newest first, without pre-releases. */
export const releasesAmong = (tags: string[]): string[] =>
  semver.rsort(tags.filter((tag) => /^v\d/.test(tag) && semver.valid(tag) && !semver.prerelease(tag)));

/** Builds the site of this checkout as a release, and packs it into a directory. */
export async function packSite(directory: string): Promise<void> {
  const built = await buildSite([], `v${manifest.version}`);
  mkdirSync(directory, { recursive: true });
  execFileSync('tar', ['--create', '--gzip', '--file', path.join(directory, SITE_ARCHIVE), '--directory', built, '.']);
}

/** Writes the published site into a directory: each release from its archive, and this checkout as `next`. */
export async function assembleSite(directory: string): Promise<void> {
  const tags = execFileSync('git', ['tag', '--list', 'v*'], { cwd: import.meta.dirname, encoding: 'utf8' });
  const releases = await unpackReleases(releasesAmong(tags.split('\n')), directory);
  cpSync(await buildSite([], 'next'), path.join(directory, 'next'), { recursive: true });
  const base = `${new URL(SITE).pathname}/`;
  const versions = ['next', ...releases];
  writeFileSync(path.join(directory, 'versions.json'), JSON.stringify(versions));
  writeFileSync(path.join(directory, '404.html'), missingPage(base, versions));
  writeFileSync(
    path.join(directory, 'index.html'),
    `<!doctype html><title>stoker-operator</title><meta http-equiv="refresh" content="0; url=${base}${releases[0] ?? 'next'}/">\n`,
  );
}

/**
 * Unpacks the archives of releases, and returns the tags with an archive. A tag whose release isn't complete has none.
 * Other failures throw an error, because a site without a published version must not replace the current one.
 */
export async function unpackReleases(
  tags: string[],
  directory: string,
  downloads = `${REPOSITORY}/releases/download`,
): Promise<string[]> {
  const unpacked: string[] = [];
  for (const tag of tags) {
    const address = `${downloads}/${tag}/${SITE_ARCHIVE}`;
    const response = await fetch(address);
    if (response.status === 404) {
      console.error(`${tag}: not on the site, because there is no ${address}`);
      continue;
    }
    if (!response.ok) throw new Error(`${address}: status ${response.status}; run the workflow again`);
    const target = path.join(directory, tag);
    mkdirSync(target, { recursive: true });
    const archive = Buffer.from(await response.arrayBuffer());
    execFileSync('tar', ['--extract', '--gzip', '--directory', target], { input: archive });
    unpacked.push(tag);
  }
  return unpacked;
}

/**
 * Page for an address that doesn't exist, which GitHub Pages serves from the root. It leads from a page that a version
 * doesn't have to its start page, from a version that isn't published to `next`, and from an address without a version
 * to the newest release.
 */
export function missingPage(base: string, versions: string[]): string {
  const newest = versions[1] ?? 'next';
  const script = `
    const page = location.pathname.slice(${JSON.stringify(base)}.length);
    const version = ${JSON.stringify(versions)}.find((name) => page.startsWith(name + '/'));
    const other = /^v\\d/.test(page) ? page.replace(/^[^/]*/, 'next') : ${JSON.stringify(`${newest}/`)} + page;
    const target = version ? version + '/' : other + location.hash;
    if (target !== page) location.replace(${JSON.stringify(base)} + target);
  `;
  return `<!doctype html><title>Page not found</title><p>This page doesn't exist. <a href="${base}">Start page</a></p><script>${script}</script>\n`;
}
