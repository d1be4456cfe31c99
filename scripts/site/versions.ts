import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import semver from 'semver';
import { SITE } from '../../shared/docs-site.ts';
import { buildSite } from './run-vitepress.ts';

const root = path.join(import.meta.dirname, '../..');

/** Returns the tags of releases, the newest first, without pre-releases. */
export const releasesAmong = (tags: string[]): string[] =>
  semver.rsort(tags.filter((tag) => /^v\d/.test(tag) && semver.valid(tag) && !semver.prerelease(tag)));

/**
 * Page for an address that doesn't exist, which GitHub Pages serves from the root. It leads from a version that isn't
 * published to the same page of `next`, and from a page that a version doesn't have to its start page.
 */
export function missingPage(base: string, versions: string[]): string {
  const script = `
    const [version, ...page] = location.pathname.slice(${JSON.stringify(base)}.length).split('/');
    const isPublished = ${JSON.stringify(versions)}.includes(version);
    const start = ${JSON.stringify(base)} + (isPublished ? version : 'next') + '/';
    if (location.pathname !== start) location.replace(isPublished ? start : start + page.join('/') + location.hash);
  `;
  return `<!doctype html><title>Page not found</title><p>This page doesn't exist. <a href="${base}">Start page</a></p><script>${script}</script>\n`;
}

/** Builds every release that has a site from its tag, and this checkout as `next`, into a directory for the web server. */
export async function buildVersions(directory: string): Promise<void> {
  const tags = execFileSync('git', ['tag', '--list', 'v*'], { cwd: root, encoding: 'utf8' }).split('\n');
  const versions: string[] = ['next'];
  mkdirSync(directory, { recursive: true });
  await copySite(root, 'next', directory);
  for (const tag of releasesAmong(tags)) {
    const checkout = mkdtempSync(path.join(tmpdir(), 'site-'));
    try {
      const archive = execFileSync('git', ['archive', tag], { cwd: root, maxBuffer: 2 ** 30 });
      execFileSync('tar', ['--extract', '--directory', checkout], { input: archive });
      if (!existsSync(path.join(checkout, 'site/package-lock.json'))) continue;
      await copySite(checkout, tag, directory);
      versions.push(tag);
    } finally {
      rmSync(checkout, { recursive: true });
    }
  }
  const base = `${new URL(SITE).pathname}/`;
  const newest = versions[1] ?? 'next';
  writeFileSync(path.join(directory, 'versions.json'), JSON.stringify(versions));
  writeFileSync(path.join(directory, '404.html'), missingPage(base, versions));
  writeFileSync(
    path.join(directory, 'index.html'),
    `<!doctype html><title>stoker-operator</title><meta http-equiv="refresh" content="0; url=${base}${newest}/">\n`,
  );
}

async function copySite(checkout: string, version: string, directory: string): Promise<void> {
  await buildSite([], { checkout, version });
  cpSync(path.join(checkout, 'site/.vitepress/dist'), path.join(directory, version), { recursive: true });
}
