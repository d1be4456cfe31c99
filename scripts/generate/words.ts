import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, visitorKeys } from 'oxc-parser';
import { isSentence } from '../prose/read-source.ts';

const root = path.join(import.meta.dirname, '../..');
/** Sources whose texts are in other generated files: the CRDs, and the reference of `kubectl stoker`. */
const ELSEWHERE = ['shared/api/**', 'cli/commands/**'];

/** A node of a syntax tree; its children are in the fields that `visitorKeys` lists. */
interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

interface Source {
  file: string;
  text: string;
  program: Node;
}

/** Codes of the errors that the functions of a file create, by name. */
type Codes = Map<string, string>;

/** Generates `words.txt` of each program: the words of its errors, conditions, findings, and events by code. */
export function generateWords(): Record<string, string> {
  const files = globSync('{agent,cli,controller,receiver,shared}/**/*.ts', { cwd: root, exclude: ELSEWHERE });
  const sources = files.sort().map(read);
  const declared = new Map(sources.map((source) => [source.file, codesOfFunctions(source)]));
  const programs = Map.groupBy(sources, ({ file }) => file.slice(0, file.indexOf('/')));
  return Object.fromEntries(
    [...programs].map(([program, members]) => [
      `${program}/words.txt`,
      tableOf(members.flatMap((source) => wordsIn(source, codesInScope(source, declared)))),
    ]),
  );
}

function read(file: string): Source {
  const text = readFileSync(path.join(root, file), 'utf8');
  return { file, text, program: parseSync(file, text).program as unknown as Node };
}

interface Words {
  /** The code, or the file if there is none. */
  code: string;
  words: string;
}

function tableOf(all: Words[]): string {
  const sections = [...Map.groupBy(all, ({ code }) => code)].sort(([one], [other]) => (one < other ? -1 : 1));
  const linesOf = (members: Words[]) => [...new Set(members.map(({ words }) => `  ${words}\n`))].join('');
  return [
    '# Generated: run npm run generate. The words of each code, or of a file if its messages have no code.\n',
    ...sections.map(([code, members]) => `\n${code}\n${linesOf(members)}`),
  ].join('');
}

function wordsIn({ file, text, program }: Source, codes: Codes): Words[] {
  const visit = (node: Node, inherited: string): Words[] => {
    const code = codeOf(node, codes) ?? inherited;
    const words = textOf(node, text).replaceAll('\n', String.raw`\n`);
    const own = words.trim().includes(' ') && isSentence(words) ? [{ code, words }] : [];
    return [...own, ...childrenOf(node).flatMap((child) => visit(child, code))];
  };
  return visit(program, file);
}

const childrenOf = (node: Node): Node[] =>
  (visitorKeys[node.type] ?? []).flatMap((key) => (node[key] as Node | Node[] | null) ?? []).filter(Boolean);

/** The text of a literal, with `{…}` for the values in it; empty for other nodes. */
function textOf({ type, value, quasis, expressions }: Node, source: string): string {
  if (type === 'Literal') return typeof value === 'string' ? value : '';
  if (type !== 'TemplateLiteral') return '';
  const values = (expressions as Node[]).map(({ start, end }) => source.slice(start, end));
  const parts = (quasis as { value: { cooked: string } }[]).map((quasi) => quasi.value.cooked);
  return parts.reduce((all, part, index) => `${all}{${/^[\w.]+$/.exec(values[index - 1] ?? '') ?? '…'}}${part}`);
}

/** The code of the words in a node, if this node determines it. */
function codeOf(node: Node, codes: Codes): string | undefined {
  switch (node.type) {
    case 'ObjectExpression':
      return codeOfObject(node);
    case 'Property':
      return /^[A-Z][a-z]\w+$/.exec(nameOf(node.key))?.[0];
    case 'CallExpression':
    case 'NewExpression':
      return codeOfCall(node, codes);
    case 'VariableDeclarator':
    case 'FunctionDeclaration':
      return codes.get(nameOf(node.id));
    default:
      return undefined;
  }
}

/** The code in `{ code: 'git.noSpace' }`, `{ status: 'True', reason: 'Synced' }`, or `{ details: { code: … } }`. */
function codeOfObject({ properties }: Node): string | undefined {
  const values = new Map((properties as Node[]).map(({ key, value }) => [nameOf(key), value as Node]));
  const details = values.get('details');
  return (
    ['code', 'check', 'reason'].map((key) => codeIn(values.get(key))).find(Boolean) ??
    (details?.type === 'ObjectExpression' ? codeOfObject(details) : undefined)
  );
}

/** The code in `failed('pod/mesh', …)` or `new TerminalError(…, { code: 'git.noSpace' })`, or that of the function. */
function codeOfCall({ callee, arguments: values }: Node, codes: Codes): string | undefined {
  const name = nameOf(callee);
  if (/^(?:debug|info|warn|error)$/.test(name)) return 'log';
  const own = (values as Node[]).map((each) => (each.type === 'ObjectExpression' ? codeOfObject(each) : codeIn(each)));
  return own.find(Boolean) ?? codes.get(name);
}

/** Returns a literal that is a code: `git.noSpace`, `pod/mesh`, or `RefNotFound`. */
const codeIn = (node: Node | undefined): string | undefined =>
  /^(?:(?!spec\.)[a-z]\w*[./][\w/.]+|[A-Z][a-z]+(?:[A-Z]+[a-z]*)*)$/.exec(
    String(node?.type === 'Literal' && node.value),
  )?.[0];

const nameOf = (node: unknown): string => {
  const { name, property } = (node ?? {}) as { name?: string; property?: Node };
  return name ?? (property ? nameOf(property) : '');
};

/** Finds the functions that contain one code only. */
function codesOfFunctions({ program }: Source): Codes {
  const codes: Codes = new Map();
  const visit = (node: Node): Set<string> => {
    const own = codeOf(node, codes);
    const all = new Set(childrenOf(node).flatMap((child) => [...visit(child)]));
    if (own !== undefined && own !== 'log') all.add(own);
    const isFunction = node.type === 'FunctionDeclaration' || (node.init as Node | null)?.type.includes('Function');
    const [code] = all;
    if (isFunction && code !== undefined && all.size === 1) codes.set(nameOf(node.id), code);
    return all;
  };
  visit(program);
  return codes;
}

/** The functions of a file, and those that it imports. */
function codesInScope({ file, program }: Source, declared: Map<string, Codes>): Codes {
  const scope: Codes = new Map(declared.get(file));
  for (const { type, source, specifiers } of program.body as Node[]) {
    if (type !== 'ImportDeclaration') continue;
    const codes = declared.get(path.join(path.dirname(file), String((source as Node).value)));
    for (const { local, imported } of specifiers as Node[]) {
      const code = codes?.get(nameOf(imported));
      if (code !== undefined) scope.set(nameOf(local), code);
    }
  }
  return scope;
}
