import { parseSync, visitorKeys } from 'oxc-parser';

/** A small change of a source file that a test should notice. */
export interface Mutant {
  /** Relative to the root of the project. */
  file: string;
  /** Where the text is that is replaced, in UTF-16 code units. */
  start: number;
  end: number;
  replacement: string;
  /** Such as `< → <=`. */
  what: string;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [key: string]: unknown;
}

/** Gives the changes of a node. */
type Mutate = (node: Node, text: (node: Node) => string) => Omit<Mutant, 'file'>[];

const OPERATORS: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
};

/** Calls that give the same without them, or nearly: leaving one out is a change that a test can notice. */
const FILTERS = new Set(['filter', 'slice', 'sort', 'toSorted', 'trim', 'trimEnd', 'toLowerCase', 'reverse']);

const swap = ({ start, end }: Node, replacement: string, what: string) => ({ start, end, replacement, what });
const nodesOf = (value: unknown): Node[] => (value as (Node | null)[]).filter((node) => node !== null);

/** Changes an operator between its two operands, whatever comments stand there. */
const mutateOperator: Mutate = (node, text) => {
  const [left, right, operator] = [node.left as Node, node.right as Node, node.operator as string];
  const other = OPERATORS[operator];
  if (!other || (operator === '+' && [left, right].some(isText))) return [];
  return [swap(node, `((${text(left)}) ${other} (${text(right)}))`, `${operator} → ${other}`)];
};

const mutateTest: Mutate = (node) => {
  const test = node.test as Node;
  return ['true', 'false'].map((value) => swap(test, value, `condition → ${value}`));
};

const mutateLiteral: Mutate = (node, text) => {
  const { value } = node;
  if (typeof value === 'boolean') return [swap(node, String(!value), `${value} → ${!value}`)];
  if (typeof value === 'number') return [swap(node, `(${text(node)} + 1)`, `${value} → ${value + 1}`)];
  // Sentences are for people.
  if (typeof value === 'string' && value !== '' && !value.includes(' '))
    return [swap(node, "''", `${text(node)} → ''`)];
  return [];
};

const mutators: Record<string, Mutate> = {
  BinaryExpression: mutateOperator,
  LogicalExpression: mutateOperator,
  IfStatement: mutateTest,
  ConditionalExpression: mutateTest,
  Literal: mutateLiteral,
  UnaryExpression: (node, text) =>
    node.operator === '!' ? [swap(node, `(${text(node.argument as Node)})`, '! left out')] : [],
  ObjectExpression: (node, text) => withoutEach(nodesOf(node.properties), node, { text, brackets: ['{', '}'] }),
  ArrayExpression: (node, text) => withoutEach(nodesOf(node.elements), node, { text, brackets: ['[', ']'] }),
  CallExpression: (node, text) => {
    const callee = node.callee as Node;
    const name = (callee.property as Node | undefined)?.name as string | undefined;
    if (callee.type !== 'MemberExpression' || !name || !FILTERS.has(name)) return [];
    return [swap(node, text(callee.object as Node), `.${name}() left out`)];
  },
  ExpressionStatement: (node, text) => {
    const expression = node.expression as Node;
    if (expression.type === 'Literal' || /^(this\.#?)?\w*log\.|\.unref\(\)/.test(text(expression))) return [];
    return [swap(node, ';', 'statement left out')];
  },
};

/** Leaves out one member of a list after the other. */
function withoutEach(
  members: Node[],
  node: Node,
  { text, brackets: [open, close] }: { text: (node: Node) => string; brackets: [string, string] },
) {
  return members.map((member) => {
    const rest = members.filter((other) => other !== member).map(text);
    const name = text(member).replace(/\s+/g, ' ').slice(0, 40);
    return swap(node, `${open}${rest.join(', ')}${close}`, `${name} left out`);
  });
}

const isText = ({ type, value }: Node): boolean => type === 'TemplateLiteral' || typeof value === 'string';

/** Lists the mutants of a source file in the order of their places. Types, imports, and texts for people have none. */
export function listMutants(file: string, source: string): Mutant[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const found: Mutant[] = [];
  const text = ({ start, end }: Node) => source.slice(start, end);
  const visit = (node: Node) => {
    if (isLeftAlone(node)) return;
    found.push(...(mutators[node.type]?.(node, text) ?? []).map((mutant) => ({ file, ...mutant })));
    for (const key of visitorKeys[node.type] ?? []) {
      if (key === 'key' && !node.computed) continue;
      const child = node[key] as Node | (Node | null)[] | null | undefined;
      for (const each of Array.isArray(child) ? child : [child]) if (each) visit(each);
    }
  };
  visit(program as unknown as Node);
  return found.sort((a, b) => a.start - b.start || a.end - b.end);
}

/** Types are gone when the program runs; `as`, `satisfies` and `!` hold an expression. */
function isLeftAlone({ type }: Node): boolean {
  if (['TSAsExpression', 'TSSatisfiesExpression', 'TSNonNullExpression'].includes(type)) return false;
  return type.startsWith('TS') || type === 'ImportDeclaration' || type === 'ExportAllDeclaration';
}
