import {
  Composer,
  isAlias,
  isCollection,
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  Parser,
  type YAMLMap,
} from 'yaml';
import { SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';

/** Describes the first syntax error of YAML 1.2 with any number of documents. Tags can have any name. */
export function yamlProblem(text: string): SyntaxProblem | undefined {
  const lines = new LineCounter();
  // The library compares every key of a map with all others, which takes minutes for a large map.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  let aliases = 0;
  for (const document of composer.compose(new Parser(lines.addNewLine).parse(text))) {
    const [error] = document.errors;
    const found = error ? { offset: error.pos[0], what: describe(error) } : undefined;
    const walk = new Walk(aliases);
    const problem = found ?? walk.findProblem(document.contents, 1);
    aliases = walk.aliases;
    if (!problem) continue;
    const { line, col } = lines.linePos(problem.offset);
    return { line: Math.max(1, line), column: Math.max(1, col), what: problem.what };
  }
  return undefined;
}

/** Returns the message without the part that quotes the file, which might contain a secret. */
function describe({ message, code }: { message: string; code: string }): string {
  if (code === 'RESOURCE_EXHAUSTION') return TOO_DEEP;
  const words = code === 'MISSING_CHAR' ? message : message.replace(/(:\s| \\).*$/s, '');
  return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

interface Problem {
  offset: number;
  what: string;
}

/** Walks through a document, and finds problems that composing it doesn't. */
class Walk {
  /** Number of aliases, with those of earlier documents. */
  aliases: number;
  readonly #anchors = new Set<string>();

  constructor(aliases: number) {
    this.aliases = aliases;
  }

  findProblem(node: unknown, depth: number): Problem | undefined {
    if (isPair(node)) return this.findProblem(node.key, depth) ?? this.findProblem(node.value, depth);
    if (isAlias(node)) return this.#countAlias(node);
    const problem = isCollection(node) ? this.#findInside(node, depth) : undefined;
    if (!problem && (isCollection(node) || isScalar(node)) && node.anchor) this.#anchors.add(node.anchor);
    return problem;
  }

  #countAlias({ source, range }: Node & { source: string }): Problem | undefined {
    const offset = range?.[0] ?? 0;
    this.aliases += 1;
    if (this.aliases > SYNTAX_BOUNDS.aliases) return { offset, what: `more than ${SYNTAX_BOUNDS.aliases} aliases` };
    return this.#anchors.has(source) ? undefined : { offset, what: 'alias without an anchor before it' };
  }

  #findInside(node: Node & { items: unknown[] }, depth: number): Problem | undefined {
    const offset = node.range?.[0] ?? 0;
    if (depth > SYNTAX_BOUNDS.depth) return { offset, what: TOO_DEEP };
    const repeated = isMap(node) ? repeatedKey(node) : undefined;
    if (repeated) return { offset: repeated.range?.[0] ?? offset, what: 'map keys must be unique' };
    for (const item of node.items) {
      const problem = this.findProblem(item, depth + 1);
      if (problem) return problem;
    }
    return undefined;
  }
}

/** Returns the first scalar key that occurs a second time. */
function repeatedKey({ items }: YAMLMap): Node | undefined {
  const keys = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key)) continue;
    if (keys.has(key.value)) return key;
    keys.add(key.value);
  }
  return undefined;
}
