import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { chart } from './render.ts';

/** Lists the values that the chart documents, by their dotted path: the rows of its README. */
export async function listDocumentedValues(): Promise<string[]> {
  const readme = await readFile(path.join(chart, 'README.md'), 'utf8');
  return [...readme.matchAll(/^\| `([\w.]+)` \|/gm)].map(([, name]) => name!);
}
