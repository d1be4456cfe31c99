import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';

/**
 * Returns the section of CHANGELOG.md on the version of a tag (`v1.2.3`). Throws an error if the tag isn't such a version,
 * if package.json or the chart have another one, if the changelog has no section on it, or if pages still say that there
 * is no release.
 */
async function readReleaseNotes(tag: string | undefined, root: string): Promise<string> {
  const version = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag ?? '')?.[1];
  if (!version) throw new Error(`${tag ?? 'nothing'} isn't the tag of a release, such as v1.2.3 or v1.2.3-rc.1.`);
  const read = (file: string) => readFile(path.join(root, file), 'utf8');
  const chart = parse(await read('chart/Chart.yaml'));
  const versions = {
    'version in package.json': JSON.parse(await read('package.json')).version,
    'version in chart/Chart.yaml': chart.version,
    'appVersion in chart/Chart.yaml': chart.appVersion,
  };
  for (const [name, found] of Object.entries(versions)) {
    if (found !== version) throw new Error(`The tag is ${tag}, but the ${name} is ${found}.`);
  }
  const sections = (await read('CHANGELOG.md')).split(/^## /m).map((section) => section.split(/\n([\s\S]*)/));
  // Headings are `1.2.3` or `[1.2.3]`, optionally with a date.
  const [, notes] = sections.find(([heading]) => heading?.replace(/[[\]]/g, '').split(' ', 1)[0] === version) ?? [];
  if (!notes?.trim()) throw new Error(`CHANGELOG.md has no section on ${version}.`);
  const outdated = await outdatedPages(root);
  if (outdated.length > 0) throw new Error(`These pages still say that there is no release: ${outdated.join(', ')}.`);
  return notes.trim();
}

/** Lists pages for users that only hold before the first release, because the site of a version never changes. */
async function outdatedPages(root: string): Promise<string[]> {
  const outdated: string[] = [];
  for await (const file of glob(['*.md', 'docs/{tutorials,how-to,explanation,reference}/**/*.md'], { cwd: root })) {
    const text = await readFile(path.join(root, file), 'utf8');
    if (/\bno release yet\b|been published yet|until 0\.1\.0 is/i.test(text)) outdated.push(file);
  }
  return outdated.sort();
}

try {
  const [tag, root = path.join(import.meta.dirname, '..')] = process.argv.slice(2);
  process.stdout.write(`${await readReleaseNotes(tag, root)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
