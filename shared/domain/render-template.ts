import { createHash } from 'node:crypto';

/** Values by their full key: `GatewayName`, `Labels.app`, `Vars.port`. */
export type TemplateValues = Pick<ReadonlyMap<string, string>, 'get'>;

/** The text with its values in place, and the keys it used; or what is wrong with it. */
export type Rendered = { kind: 'rendered'; text: string; keys: string[] } | { kind: 'problem'; message: string };

const expression = /\{\{-?\s*(.*?)\s*-?\}\}/gs;
const field = /^\.(\S+)$/;

/**
 * Renders `{{ .Key }}` and `{{ "literal" }}`. A key without a value and any other expression is a problem: nothing is
 * left out in silence.
 */
export function renderTemplate(text: string, values: TemplateValues): Rendered {
  const keys = new Set<string>();
  let problem: string | undefined;
  const rendered = text.replace(expression, (whole: string, inner: string, offset: number) => {
    const key = field.exec(inner)?.[1];
    const value = key === undefined ? literal(inner) : values.get(key);
    if (key !== undefined) keys.add(key);
    if (value === undefined) problem ??= `line ${lineOf(text, offset)}: ${complaint(whole, key)}`;
    return value ?? '';
  });
  return problem ? { kind: 'problem', message: problem } : { kind: 'rendered', text: rendered, keys: [...keys].sort() };
}

/** A fingerprint of the values of these keys: a file is rendered anew only when one of its own values changed. */
export function inputsHash(keys: string[], values: TemplateValues): string {
  return createHash('sha256')
    .update(JSON.stringify(keys.map((key) => [key, values.get(key) ?? null])))
    .digest('hex');
}

function literal(inner: string): string | undefined {
  if (!/^"(?:[^"\\]|\\.)*"$/s.test(inner)) return undefined;
  try {
    return JSON.parse(inner) as string;
  } catch {
    return undefined;
  }
}

function complaint(whole: string, key: string | undefined): string {
  if (key === undefined) return `${whole} is no template that the agent knows: write {{ .Key }} or {{ "literal" }}`;
  if (key.startsWith('Vars.')) return `${whole} has no value: add it to vars of the profile or of the defaults`;
  if (key.startsWith('Labels.')) return `${whole} has no value: the pod has no such label`;
  return `${whole} has no value`;
}

function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split('\n').length;
}
