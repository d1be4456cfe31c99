import { type Comment, parseSync, Visitor } from 'oxc-parser';
import { type Kind, lineAt, type Passage, withoutCode } from './passage.ts';

/** Programs, whose literals users read: as errors, logs, conditions, help, and generated pages. */
const programs = /^(?:agent|cli|controller|receiver|shared|scripts\/generate)\//;
/** Matches a word of a sentence that isn't part of a path, a header, or a command's options. */
const word = /(?<=^|[\s("'_])[A-Za-z][a-z'’-]*(?=[\s.,:;!?)"'_]|$)/g;
const code = /=>|==|&&|\$\(|^#!|^\s*<|\bself\.\w/;
export const isSentence = (text: string) => (text.match(word)?.length ?? 0) >= 3 && !code.test(text);

/** Nodes that declare a name. */
const DECLARATIONS = [
  ...['VariableDeclarator', 'FunctionDeclaration', 'ClassDeclaration', 'MethodDefinition', 'PropertyDefinition'],
  ...['TSTypeAliasDeclaration', 'TSInterfaceDeclaration', 'TSPropertySignature', 'TSMethodSignature'],
];

interface Named {
  id?: { type: string; name?: string; start: number } | null;
  key?: { type: string; name?: string; start: number };
}

/** Reads the literals, comments and declared names of a JavaScript or TypeScript file. */
export function readSource(file: string, source: string): Passage[] {
  const { program, comments } = parseSync(file, source);
  const passages: Passage[] = [];
  const add = (kind: Kind, offset: number, text: string) =>
    passages.push({ file, kind, line: lineAt(source, offset), text });

  const message = (offset: number, text: string) => {
    if (programs.test(file) && isSentence(text)) add('message', offset, withoutCode(text));
  };
  const declared = ({ id, key }: Named) => {
    const name = id ?? key;
    if (name?.name) add('identifier', name.start, wordsOf(name.name));
  };
  new Visitor({
    Literal: ({ value, start }) => typeof value === 'string' && message(start, value),
    TemplateLiteral: ({ quasis, start }) => message(start, quasis.map(({ value }) => value.cooked ?? '').join('_')),
    ...Object.fromEntries(DECLARATIONS.map((type) => [type, declared])),
  }).visit(program);

  for (const { value, start, ...comment } of joined(comments, source)) {
    const doc = comment.type === 'Block' && value.startsWith('*');
    const text = value
      .replace(/^\*?\s*/, '')
      .replaceAll(/\n\s*\*? ?/g, '\n')
      .replaceAll(/@\w+ \{(?:[^{}]|\{[^{}]*\})*\}/g, '');
    if (!/^(?:biome-|@ts-|@type)/.test(text)) add(doc ? 'doc comment' : 'comment', start, withoutCode(text));
  }
  return passages;
}

/** Joins comments with `//` on consecutive lines. */
function joined(comments: Comment[], source: string): Comment[] {
  const blocks: Comment[] = [];
  for (const comment of comments) {
    const last = blocks.at(-1);
    const between = source.slice(last?.end ?? 0, comment.start);
    if (last?.type === 'Line' && comment.type === 'Line' && /^\n[ \t]*$/.test(between)) {
      blocks[blocks.length - 1] = { ...last, value: `${last.value}\n${comment.value}`, end: comment.end };
    } else blocks.push(comment);
  }
  return blocks;
}

/** `LEAST_FREE_BYTES` and `leastFreeBytes` → `least free bytes`. */
const wordsOf = (name: string): string =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll('_', ' ')
    .trim()
    .toLowerCase();
