import { lineAt, type Passage, withoutCode } from './passage.ts';

const actions = /\{\{[\s\S]*?\}\}/g;
/** In a chart's file: comments, descriptions, and literals with at least three words. */
const texts = [
  /\{\{-? ?\/\*([\s\S]*?)\*\//g,
  /((?:^[ \t]*#.*\n?)+)/gm,
  /^\s*"?(?:summary|description)"?:\s*(.*)$/gm,
  /"((?:[^"\\\n]|\\.)*[a-z,:;]+ [a-z]+ [a-z](?:[^"\\\n]|\\.)*)"/g,
];

/** Reads comments and messages of a values file or a template; all of NOTES.txt is a message. */
export function readChart(file: string, source: string): Passage[] {
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
