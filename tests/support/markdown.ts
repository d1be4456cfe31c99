import { glob, readFile } from 'node:fs/promises';
import path from 'node:path';

const checkout = path.join(import.meta.dirname, '../..');

/** A page of the documentation, or a manifest, by its path in the checkout. */
export interface Page {
  file: string;
  text: string;
}

/** A fenced block of code, without its indentation. */
export interface Block {
  language: string;
  code: string;
}

/** Reads every page of the project. */
export const readPages = (): Promise<Page[]> =>
  readFiles(['*.md', 'docs/**/*.md', 'chart/*.md', 'cli/*.md', 'examples/**/*.md']);

/** Reads the manifests of all recipes. */
export const readManifests = (): Promise<Page[]> => readFiles(['examples/*/manifests.yaml']);

async function readFiles(patterns: string[]): Promise<Page[]> {
  const files: string[] = [];
  for await (const file of glob(patterns, { cwd: checkout })) files.push(file);
  return await Promise.all(
    files.sort().map(async (file) => ({ file, text: await readFile(path.join(checkout, file), 'utf8') })),
  );
}

const fence = /^( *)```(\w*)\n([\s\S]*?)^\1```$/gm;

export const blocksOf = ({ text }: Page): Block[] =>
  [...text.matchAll(fence)].map(([, indent = '', language = '', code = '']) => ({
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));

/** Returns the text outside of code blocks. */
export const proseOf = ({ text }: Page): string => text.replaceAll(fence, '');

/** Returns the commands of shell blocks, one per line, without pipes and redirections. */
export function commandsOf(page: Page): string[] {
  return blocksOf(page)
    .filter(({ language }) => ['console', 'sh'].includes(language))
    .flatMap(({ language, code }) =>
      code
        .replaceAll(/ *\\\n */g, ' ')
        .split('\n')
        .filter((line) => language === 'sh' || line.startsWith('$ '))
        .map((line) => line.replace(/^\$ /, '').replace(/ +[>|#] .*$/, '')),
    );
}

/** Splits a command into words like a shell, without expansions. */
export function wordsOf(command: string): string[] {
  const words = command.matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+/g);
  return [...words].map(([word]) => word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
}
