/** A piece of a text: from the first character to the one after the last. */
export interface Span {
  start: number;
  end: number;
}

/** A member of an object: where its name and its value are, and what the name says. */
export interface Member {
  name: string;
  key: Span;
  value: Span;
}

/** Members of the object, in their order, that begins at `start`. The text must be valid JSON (RFC 8259). */
export function membersAt(text: string, start: number): Member[] {
  const members: Member[] = [];
  for (let at = skipSpace(text, start + 1); text[at] !== '}'; ) {
    const key = { start: at, end: endOfString(text, at) };
    const value = valueAt(text, skipSpace(text, key.end) + 1);
    members.push({ name: JSON.parse(text.slice(key.start, key.end)) as string, key, value });
    at = skipSeparator(text, value.end);
  }
  return members;
}

/** Elements of the array that begins at `start`. */
export function elementsAt(text: string, start: number): Span[] {
  const elements: Span[] = [];
  for (let at = skipSpace(text, start + 1); text[at] !== ']'; ) {
    const element = valueAt(text, at);
    elements.push(element);
    at = skipSeparator(text, element.end);
  }
  return elements;
}

/** The value that begins at `from` or after the white space there. */
export function valueAt(text: string, from: number): Span {
  const start = skipSpace(text, from);
  const first = text[start];
  if (first === '"') return { start, end: endOfString(text, start) };
  if (first === '{' || first === '[') return { start, end: endOfContainer(text, start) };
  let end = start;
  while (end < text.length && !/[\s,\]}]/.test(text[end] ?? '')) end += 1;
  return { start, end };
}

/** Counts brackets instead of recursing: a file may be nested as deep as it likes. */
function endOfContainer(text: string, start: number): number {
  let depth = 0;
  for (let at = start; ; ) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
      continue;
    }
    if (char === '{' || char === '[') depth += 1;
    if (char === '}' || char === ']') depth -= 1;
    at += 1;
    if (depth === 0) return at;
  }
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '"') return at + 1;
  }
}

function skipSeparator(text: string, from: number): number {
  const at = skipSpace(text, from);
  return text[at] === ',' ? skipSpace(text, at + 1) : at;
}

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\n' || text[at] === '\r' || text[at] === '\t') at += 1;
  return at;
}
