import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';

/** Matches the directory of the innermost package that contains a file. */
const PACKAGE = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/;
const LICENCE = /^(?:licen[cs]e|copying|notice)/i;

/**
 * Returns the licences of the packages that files of a bundle belong to, because most of them require that it is included
 * with the bundle. Paths are relative to the root.
 */
export async function licencesOf(files: Iterable<string>, root: string): Promise<string> {
  const directories = new Set([...files].flatMap((file) => PACKAGE.exec(file)?.[0] ?? []));
  const licences = await Promise.all([...directories].map((directory) => licenceOf(path.join(root, directory))));
  return [...new Set(licences)].sort().join(`\n${'-'.repeat(80)}\n\n`);
}

async function licenceOf(directory: string): Promise<string> {
  const manifest = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8'));
  const names = (await readdir(directory)).filter((name) => LICENCE.test(name)).sort();
  const texts = await Promise.all(names.map((name) => readFile(path.join(directory, name), 'utf8')));
  const head = `${manifest.name} ${manifest.version} (${manifest.license})`;
  return `${[head, ...texts.map((text) => text.trim())].join('\n\n')}\n`;
}
