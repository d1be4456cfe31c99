import { MAX_PROBLEMS, type Problem } from '../../errors.ts';

/** Values by their full key: `GatewayName`, `Labels.app`, `Vars.port`. */
export type TemplateValues = Pick<ReadonlyMap<string, string>, 'get'>;

/** The rendered text with the keys it used, or its problems: one for each expression, with the message of the first. */
export type Rendered =
  | { kind: 'rendered'; text: string; keys: string[] }
  | { kind: 'problem'; message: string; problems: Problem[] };

const field = /^\.(\S+)$/;

/** Maximum pieces before they are joined, because V8 keeps a node in memory for each appended string. */
const PIECES_AT_ONCE = 4_096;

/**
 * Renders `{{ .Key }}` and `{{ "literal" }}`. Keys without a value, other expressions, and results of more than
 * `maxLength` characters are problems; nothing is omitted silently.
 */
export function renderTemplate(
  text: string,
  values: TemplateValues,
  maxLength: number = Number.POSITIVE_INFINITY,
): Rendered {
  const keys = new Set<string>();
  const problems = new TextProblems(text);
  const joined: string[] = [];
  let pieces: string[] = [];
  let length = 0;
  let end = 0;
  for (let start = text.indexOf('{{'); start !== -1; start = text.indexOf('{{', end)) {
    const close = text.indexOf('}}', start + 2);
    if (close === -1) {
      problems.add('{{', start, unclosed(text.slice(start)));
      break;
    }
    const inner = text.slice(start + 2, close).trim();
    const key = field.exec(inner)?.[1];
    const value = key === undefined ? literal(inner) : values.get(key);
    if (value === undefined) problems.add(quote(inner), start, complaint(text.slice(start, close + 2), key));
    if (key !== undefined) keys.add(key);
    length += start - end + (value ?? '').length;
    if (length > maxLength) {
      problems.add('length', start, tooLong(maxLength));
      break;
    }
    pieces.push(text.slice(end, start), value ?? '');
    if (pieces.length >= PIECES_AT_ONCE) {
      joined.push(pieces.join(''));
      pieces = [];
    }
    end = close + 2;
  }
  if (length + text.length - end > maxLength) problems.add('length', end, tooLong(maxLength));
  if (problems.result) return problems.result;
  return { kind: 'rendered', text: [...joined, ...pieces, text.slice(end)].join(''), keys: [...keys].sort() };
}

function literal(inner: string): string | undefined {
  if (!inner.startsWith('"')) return undefined;
  try {
    return JSON.parse(inner) as string;
  } catch {
    return undefined;
  }
}

/** Maximum quoted characters of an expression. */
const MAX_QUOTED = 80;

function quote(expression: string): string {
  return expression.length > MAX_QUOTED ? `${expression.slice(0, MAX_QUOTED)}…` : expression;
}

function unclosed(rest: string): string {
  const line = rest.slice(0, MAX_QUOTED + 1).split('\n', 1)[0] ?? '';
  return `${quote(line)} isn't closed; add }}, or write {{ "{{" }} for two braces`;
}

function complaint(expression: string, key: string | undefined): string {
  const whole = quote(expression);
  if (key === undefined) return `${whole} isn't a supported template; use {{ .Key }} or {{ "literal" }}`;
  if (key.startsWith('Vars.')) return `${whole} has no value; add it to vars of the profile or the defaults`;
  if (key.startsWith('Labels.')) return `${whole} has no value; add the label to the pod`;
  return `${whole} has no value`;
}

const tooLong = (maxLength: number) => `the rendered text would be longer than ${maxLength} characters`;

/** Collects the first problems of a text, one for each key. */
class TextProblems {
  readonly #text: string;
  readonly #messages = new Map<string, string>();

  constructor(text: string) {
    this.#text = text;
  }

  add(key: string, offset: number, what: string): void {
    if (this.#messages.size >= MAX_PROBLEMS || this.#messages.has(key)) return;
    this.#messages.set(key, `line ${lineAt(this.#text, offset)}: ${what}`);
  }

  /** Undefined if there are no problems. */
  get result(): Rendered | undefined {
    const problems = [...this.#messages].map(([key, message]) => ({ key, message }));
    return problems[0] && { kind: 'problem', message: problems[0].message, problems };
  }
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}
