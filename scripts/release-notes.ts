import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'yaml';

/**
 * Gives what CHANGELOG.md says of the version of a tag (`v1.2.3`). Throws an error when the tag is no such version, when
 * package.json or the chart have another one, or when the changelog has no word on it.
 */
async function readReleaseNotes(tag: string | undefined, root: string): Promise<string> {
  const version = /^v(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)$/.exec(tag ?? '')?.[1];
  if (!version) throw new Error(`${tag ?? 'nothing'} is no tag of a release: those are v1.2.3 or v1.2.3-rc.1.`);
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
  // Headings are `1.2.3` or `[1.2.3]`, perhaps with a date behind.
  const [, notes] = sections.find(([heading]) => heading?.replace(/[[\]]/g, '').split(' ', 1)[0] === version) ?? [];
  if (!notes?.trim()) throw new Error(`CHANGELOG.md has no section on ${version}.`);
  return notes.trim();
}

try {
  const [tag, root = path.join(import.meta.dirname, '..')] = process.argv.slice(2);
  process.stdout.write(`${await readReleaseNotes(tag, root)}\n`);
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
