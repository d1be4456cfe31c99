import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Passage } from './passage.ts';
import { readChart } from './read-chart.ts';
import { readPage } from './read-page.ts';
import { readSource } from './read-source.ts';

const checkout = path.join(import.meta.dirname, '../..');

/** Functions that read files, by extension or path. */
const readers: [string, (file: string, source: string) => Passage[]][] = [
  ['{*.md,.github/*.md,cli/*.md,docs/**/*.md,chart/*.md,examples/**/*.md}', readPage],
  ['chart/{*.yaml,values.schema.json,templates/**/*.{yaml,tpl,txt}}', readChart],
  ['{agent,cli,controller,receiver,shared,scripts,tests}/**/*.{ts,js,mjs}', readSource],
];

/** Matches files that `npm run generate` writes: their text is checked at its source. */
const isGenerated = (file: string) => file.startsWith('chart/templates/crds/');

/** Reads the text in the files and directories of these paths; in the whole checkout if there are none. */
export async function readTexts(paths: string[]): Promise<Passage[]> {
  const below = paths.map((name) => path.relative(checkout, path.resolve(name)));
  const isSelected = (file: string) =>
    below.length === 0 || below.some((name) => name === '' || file === name || file.startsWith(`${name}/`));
  const passages: Passage[] = [];
  for (const [pattern, read] of readers) {
    for await (const file of glob(pattern, { cwd: checkout })) {
      if (isGenerated(file) || !isSelected(file)) continue;
      passages.push(...read(file, await readFile(path.join(checkout, file), 'utf8')));
    }
  }
  return passages;
}
