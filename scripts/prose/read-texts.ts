import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';
import { lineAt, type Passage, withoutCode } from './passage.ts';
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

const blank = (text: string) => text.replaceAll(/[^\n]/g, '');

/** First lines of pages that `npm run generate` writes: their text is checked at its source. */
const generated = /^<!-- (?:Generated|Made) .*npm run generate/;

/** Begins a paragraph: a heading, an item of a list, a row of a table, or a line after an empty one. */
const beginning = /^\s*(?:#|[-*+] |\d+\. |\||>|$)/;

/** Reads the paragraphs of a Markdown page, without code, comments, and the targets of links. */
function readPage(file: string, source: string): Passage[] {
  if (generated.test(source)) return [];
  const prose = withoutCode(
    source
      .replace(/^---\n[\s\S]*?\n---$/m, blank)
      .replaceAll(/^( *)(```+)[^\n]*\n[\s\S]*?^\1\2$/gm, blank)
      .replaceAll(/(?<=\n\n)(?: {4}.*\n)+/g, blank)
      .replaceAll(/<!--[\s\S]*?-->/g, blank)
      .replaceAll(/\]\([^)\s]+\)/g, ']')
      .replaceAll(/^(\[[^\]]+\]): .*$/gm, '$1'),
  );
  const passages: Passage[] = [];
  prose.split('\n').forEach((line, index) => {
    const last = passages.at(-1);
    const text = line.replace(/^\s*(?:[-*+]|\d+\.|>)\s+/, '').trim();
    if (last?.text && !beginning.test(line)) last.text += `\n${text}`;
    else passages.push({ file, kind: 'page', line: index + 1, text });
  });
  return passages.filter(({ text }) => text !== '');
}

const actions = /\{\{[\s\S]*?\}\}/g;
/** In a chart's file: comments, descriptions, and literals with at least three words. */
const texts = [
  /\{\{-? ?\/\*([\s\S]*?)\*\//g,
  /((?:^[ \t]*#.*\n?)+)/gm,
  /^\s*"?(?:summary|description)"?:\s*(.*)$/gm,
  /"((?:[^"\\\n]|\\.)*[a-z,:;]+ [a-z]+ [a-z](?:[^"\\\n]|\\.)*)"/g,
];

/** Reads comments and messages of a values file or a template; all of NOTES.txt is a message. */
function readChart(file: string, source: string): Passage[] {
  const passages = texts.flatMap((pattern) =>
    [...source.matchAll(pattern)].map(({ 0: all, 1: text = '', index }) => ({
      file,
      kind: 'chart' as const,
      line: lineAt(source, index + all.indexOf(text)),
      text: withoutCode(text.replaceAll(/^[ \t]*#+ ?(?:-- )?/gm, '').replaceAll(/\{\{[^}]*\}\}/g, '_')),
    })),
  );
  if (!file.endsWith('.txt')) return passages;
  const notes = source.replaceAll(actions, (action) => `_${action.replaceAll(/[^\n]/g, '')}`);
  return [...passages, { file, kind: 'chart', line: 1, text: notes }];
}
