import { createHash, type Hash } from 'node:crypto';
import { writeSync } from 'node:fs';
import * as v from 'valibot';
import { isAgentPath, isFilePath } from '../../../shared/domain/files/relative-path.ts';
import { isBoundedJson } from '../../../shared/domain/limits/is-bounded-json.ts';
import { Pacer } from '../../../shared/io/pacer.ts';

/** Approximate number of characters per chunk. */
const CHUNK = 64 * 1024;
/** Maximum length of a line (bytes). A sparse file has no lines, costs nothing, and can be larger than all memory. */
const MAX_LINE = 1024 ** 2;
/** Limits of lines longer than `bytes`: parsed, they need many times the memory of their text. */
const BOUNDS = { bytes: 4096, depth: 8, parts: 20_000 };
const NEWLINE = 10;

/** The path of a file or directory that the agent can own. */
export const ownPath = v.pipe(
  v.string(),
  v.check((path) => isFilePath(path) && !isAgentPath(path)),
);

/** The name of a tree, without path separators. */
export const treeName = v.pipe(v.string(), v.regex(/^[\w-][\w.-]{0,199}$/));

/** A {@link SeenFile}. */
export const seenFileLine = v.object({ size: v.number(), mtimeMs: v.number(), ino: v.number(), sha256: v.string() });

/** Detects damaged text; it isn't a signature. */
export const checkOf = (hash: Hash): string => hash.digest('hex').slice(0, 16);

/** Returns lines of JSON in chunks. The last line has the checksum that makes them valid, and the fields of `end`. */
export function* checkedText(lines: Iterable<object>, end: object = {}): Generator<string> {
  const hash = createHash('sha256');
  let text = '';
  for (const line of lines) {
    text += `${JSON.stringify(line)}\n`;
    if (text.length < CHUNK) continue;
    hash.update(text);
    yield text;
    text = '';
  }
  hash.update(text);
  yield `${text}${JSON.stringify({ check: checkOf(hash), ...end })}\n`;
}

/** Writes a piece of text, and returns the number of bytes. */
export function writeText(descriptor: number, text: string): number {
  const bytes = Buffer.from(text);
  for (let from = 0; from < bytes.length; ) from += writeSync(descriptor, bytes, from);
  return bytes.length;
}

/** Writes {@link checkedText}. Other work can run in the meantime. */
export async function writeChecked(descriptor: number, lines: Iterable<object>): Promise<void> {
  const pacer = new Pacer();
  for (const text of checkedText(lines)) {
    writeText(descriptor, text);
    if (pacer.isDue) await pacer.rest();
  }
}

/** Splits input into lines, each with its newline. Stops at a line that is incomplete or too long. */
export async function* readLines(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const piece of pieces) {
    const bytes = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    let from = 0;
    for (let end = bytes.indexOf(NEWLINE) + 1; end > 0; end = bytes.indexOf(NEWLINE, from) + 1) {
      yield bytes.subarray(from, end);
      from = end;
    }
    rest = bytes.subarray(from);
    if (rest.length > MAX_LINE) return;
  }
}

/** Parses a line; undefined if it doesn't fit the schema. The gateway can write anything there. */
export function parseLine<T>(schema: v.GenericSchema<unknown, T>, line: Buffer): T | undefined {
  const parsed = v.safeParse(schema, parseJson(line), { abortEarly: true });
  return parsed.success ? parsed.output : undefined;
}

/** Parses a line of JSON; undefined if it isn't one, or if it would take too much memory. */
export function parseJson(line: Buffer): unknown {
  if (line.length > BOUNDS.bytes && !isBoundedJson(line, BOUNDS)) return undefined;
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return undefined;
  }
}
