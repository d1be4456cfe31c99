import { createHash } from 'node:crypto';

/** Values by their full key: `GatewayName`, `Labels.app`, `Vars.port`. */
export type TemplateValues = Pick<ReadonlyMap<string, string>, 'get'>;

/** The rendered text with the keys it used, or a problem. */
export type Rendered = { kind: 'rendered'; text: string; keys: string[] } | { kind: 'problem'; message: string };

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
  const joined: string[] = [];
  let pieces: string[] = [];
  let length = 0;
  let end = 0;
  for (let start = text.indexOf('{{'); start !== -1; start = text.indexOf('{{', end)) {
    const close = text.indexOf('}}', start + 2);
    if (close === -1) return problemAt(text, start, unclosed(text.slice(start)));
    const inner = innerOf(text.slice(start + 2, close));
    const key = field.exec(inner)?.[1];
    const value = key === undefined ? literal(inner) : values.get(key);
    if (value === undefined) return problemAt(text, start, complaint(text.slice(start, close + 2), key));
    if (key !== undefined) keys.add(key);
    length += start - end + value.length;
    if (length > maxLength) return problemAt(text, start, tooLong(maxLength));
    pieces.push(text.slice(end, start), value);
    if (pieces.length >= PIECES_AT_ONCE) {
      joined.push(pieces.join(''));
      pieces = [];
    }
    end = close + 2;
  }
  if (length + text.length - end > maxLength) return problemAt(text, end, tooLong(maxLength));
  return { kind: 'rendered', text: [...joined, ...pieces, text.slice(end)].join(''), keys: [...keys].sort() };
}

/** The expression without surrounding white space and hyphens. */
function innerOf(body: string): string {
  const start = body.startsWith('-') ? 1 : 0;
  const end = body.length > start && body.endsWith('-') ? -1 : undefined;
  return body.slice(start, end).trim();
}

/** A hash of the values of these keys, so that a file is rendered again only after one of its values changed. */

export function inputsHash(keys: string[], values: TemplateValues): string {
  return createHash('sha256')
    .update(JSON.stringify(keys.map((key) => [key, values.get(key) ?? null])))
    .digest('hex');
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

function problemAt(text: string, offset: number, what: string): Rendered {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return { kind: 'problem', message: `line ${line}: ${what}` };
}
