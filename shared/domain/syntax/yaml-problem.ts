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
  type Scalar,
  type YAMLMap,
  type YAMLParseError,
} from 'yaml';
import { placeOf, SYNTAX_BOUNDS, type SyntaxProblem, TOO_DEEP } from './syntax-problem.ts';
import { YamlLexer } from './yaml-lexer.ts';
import { yamlWords } from './yaml-words.ts';

/** Control characters that YAML 1.2 allows nowhere, not even in quotes (c-printable, and nb-json in quotes). */
const CONTROL = /[^\P{Cc}\t\n\r\u{7f}-\u{9f}]/u;

/** Describes the first syntax error of YAML 1.2 with any number of documents. Tags can have any name. */
export function yamlProblem(marked: string): SyntaxProblem | undefined {
  // The library finds a wrong indentation after a byte order mark, and only half supports a CR as a line break.
  const text = marked.replace(/^\u{feff}/u, '').replace(/\r(?!\n)/g, '\n');
  const control = text.search(CONTROL);
  if (control >= 0) return { ...placeOf(text, control), what: "control characters aren't allowed" };
  const lines = new LineCounter();
  // The library compares every key of a map with all others, which takes minutes for a large map.
  const composer = new Composer({ prettyErrors: false, uniqueKeys: false });
  const walk = new Walk();
  for (const document of composer.compose(tokensOf(text, lines))) {
    const error = document.errors.find((each) => !isAccepted(each, text));
    const found = error && { offset: error.pos[0], what: yamlWords(error) };
    const problem = found ?? walk.findProblem(document.contents, 1);
    walk.endDocument();
    if (!problem) continue;
    const { line, col } = lines.linePos(problem.offset);
    return { line: Math.max(1, line), column: Math.max(1, col), what: problem.what };
  }
  return undefined;
}

function* tokensOf(text: string, lines: LineCounter) {
  const parser = new Parser();
  lines.addNewLine(0);
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', end + 1)) lines.addNewLine(end + 1);
  for (const lexeme of new YamlLexer().lex(text)) yield* parser.next(lexeme);
  yield* parser.end();
}

/** Common programs accept a comment right after a quote or bracket, and a colon after an anchor, unlike YAML 1.2. */
const isAccepted = ({ message, pos: [at] }: YAMLParseError, text: string): boolean =>
  message.startsWith('Comments must be separated') ||
  (message.startsWith('Tags and anchors must be separated') && text[at] === ':');

/** YAML allows such keys, but few programs do, and a template that wasn't rendered looks like one: `{{ .Vars.x }}`. */
const COLLECTION_KEY = "a key can't be a map or list; put quotes around text that begins with { or [";

const TOO_MANY_ADDED = `aliases add more than ${SYNTAX_BOUNDS.parts} keys and values`;

interface Problem {
  offset: number;
  what: string;
}

/** Walks through the documents of a file, and finds problems that composing them doesn't. */
class Walk {
  /** Keys and values, with those that aliases add. */
  #size = 0;
  /** Keys and values that aliases add. */
  #added = 0;
  /** The size of each anchor's value. */
  readonly #anchors = new Map<string, number>();

  findProblem(node: unknown, depth: number): Problem | undefined {
    if (isPair(node)) return this.findProblem(node.key, depth) ?? this.findProblem(node.value, depth);
    if (isAlias(node)) return this.#addAlias(node);
    const before = this.#size;
    this.#size += 1;
    const problem = isCollection(node) ? this.#findInside(node, depth) : undefined;
    if (problem || !(isCollection(node) || isScalar(node)) || !node.anchor) return problem;
    this.#anchors.set(node.anchor, this.#size - before);
    return undefined;
  }

  /** Anchors are valid in their document. */
  endDocument(): void {
    this.#anchors.clear();
  }

  #addAlias({ source, range }: Node & { source: string }): Problem | undefined {
    const offset = range?.[0] ?? 0;
    const size = this.#anchors.get(source);
    if (size === undefined) return { offset, what: 'alias without an anchor before it' };
    this.#size += size;
    this.#added += size;
    return this.#added > SYNTAX_BOUNDS.parts ? { offset, what: TOO_MANY_ADDED } : undefined;
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

/** Returns the first scalar key that occurs a second time. Programs merge several maps with `<<`. */
function repeatedKey({ items }: YAMLMap): Node | undefined {
  const keys = new Set<unknown>();
  for (const { key } of items) {
    if (!isScalar(key) || isMergeKey(key)) continue;
    if (keys.has(key.value)) return key;
    keys.add(key.value);
  }
  return undefined;
}

const isMergeKey = ({ value, type }: Scalar): boolean => value === '<<' && type === 'PLAIN';
