import { createHash } from 'node:crypto';

/** Values by their full key: `GatewayName`, `Labels.app`, `Vars.port`. */
export type TemplateValues = Pick<ReadonlyMap<string, string>, 'get'>;

/** The text with its values in place, and the keys it used; or what is wrong with it. */
export type Rendered = { kind: 'rendered'; text: string; keys: string[] } | { kind: 'problem'; message: string };

const field = /^\.(\S+)$/;

/** So many pieces are joined at once: V8 would keep a node in memory for each that is appended to a string. */
const PIECES_AT_ONCE = 4_096;

/**
 * Renders `{{ .Key }}` and `{{ "literal" }}`. A key without a value and any other expression is a problem: nothing is
 * left out in silence. So is what would be longer than `maxLength` characters.
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

/** What is between the braces, without white space and the hyphens next to the braces. */
function innerOf(body: string): string {
  const start = body.startsWith('-') ? 1 : 0;
  const end = body.length > start && body.endsWith('-') ? -1 : undefined;
  return body.slice(start, end).trim();
}

/** A fingerprint of the values of these keys: a file is rendered again only when one of its own values changed. */
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

/** So many characters of an expression are quoted. */
const MOST_QUOTED = 80;

function quote(expression: string): string {
  return expression.length > MOST_QUOTED ? `${expression.slice(0, MOST_QUOTED)}…` : expression;
}

function unclosed(rest: string): string {
  const line = rest.slice(0, MOST_QUOTED + 1).split('\n', 1)[0] ?? '';
  return `${quote(line)} is not closed: add }}, or write {{ "{{" }} for two braces`;
}

function complaint(expression: string, key: string | undefined): string {
  const whole = quote(expression);
  if (key === undefined) return `${whole} is no template that the agent knows: write {{ .Key }} or {{ "literal" }}`;
  if (key.startsWith('Vars.')) return `${whole} has no value: add it to vars of the profile or of the defaults`;
  if (key.startsWith('Labels.')) return `${whole} has no value: the pod has no such label`;
  return `${whole} has no value`;
}

const tooLong = (maxLength: number) => `what is rendered would be longer than ${maxLength} characters`;

function problemAt(text: string, offset: number, what: string): Rendered {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return { kind: 'problem', message: `line ${line}: ${what}` };
}
