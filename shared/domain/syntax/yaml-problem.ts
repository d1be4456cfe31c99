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
import { placeOf, SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';

/** Control characters that YAML 1.2 allows nowhere, not even in quotes (c-printable, and nb-json in quotes). */
const CONTROL = /[^\P{Cc}\t\n\r\u{7f}-\u{9f}]/u;

/** Describes the first syntax error of YAML 1.2 with any number of documents. Tags can have any name. */
export function yamlProblem(text: string): SyntaxProblem | undefined {
  const control = text.search(CONTROL);
  if (control >= 0) return { ...placeOf(text, control), what: "control characters aren't allowed" };
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
  const unquoted = message.replace(/^The .* tag has/s, 'The tag has');
  const words = code === 'MISSING_CHAR' ? message : unquoted.replace(/(:\s| \\).*$/s, '');
  return `${words.charAt(0).toLowerCase()}${words.slice(1)}`;
}

/** YAML allows such keys, but few programs do, and a template that wasn't rendered looks like one: `{{ .Vars.x }}`. */
const COLLECTION_KEY = "a key can't be a map or list; put quotes around text that begins with { or [";

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
    const collection = isMap(node) ? node.items.map(({ key }) => key).find(isCollection) : undefined;
    if (collection) return { offset: collection.range?.[0] ?? offset, what: COLLECTION_KEY };
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
