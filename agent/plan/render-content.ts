import { renderTemplate, type TemplateValues } from '../../shared/domain/files/render-template.ts';
import { firstInvalidByte } from '../../shared/domain/text/invalid-utf8.ts';
import type { Problem } from '../../shared/errors.ts';

/** Maximum size of a template in bytes, and of its output in characters: both are in memory. */
export const MAX_RENDERED_BYTES = 8 * 1024 * 1024;

/** Number of bytes that git checks to distinguish text from binary. */
export const HEAD_BYTES = 8_000;

/** Encodings of text that contains NULs, by their byte order marks; UTF-32LE starts like UTF-16LE. */
const WIDE_ENCODINGS = [
  { name: 'UTF-32LE', mark: [0xff, 0xfe, 0, 0], braces: [0x7b, 0, 0, 0, 0x7b, 0, 0, 0] },
  { name: 'UTF-32BE', mark: [0, 0, 0xfe, 0xff], braces: [0, 0, 0, 0x7b, 0, 0, 0, 0x7b] },
  { name: 'UTF-16LE', mark: [0xff, 0xfe], braces: [0x7b, 0, 0x7b, 0] },
  { name: 'UTF-16BE', mark: [0xfe, 0xff], braces: [0, 0x7b, 0, 0x7b] },
];

type WideEncoding = (typeof WIDE_ENCODINGS)[number];

const wideEncodingOf = (content: Buffer) =>
  WIDE_ENCODINGS.find(({ mark }) => content.subarray(0, mark.length).equals(Buffer.from(mark)));

/** Returns whether the content is binary by git's rule, a NUL among the first bytes, and isn't text with a byte order mark. */
export function isBinary(content: Buffer): boolean {
  return content.subarray(0, HEAD_BYTES).includes(0) && !wideEncodingOf(content);
}

/** Content to deliver with the keys it depends on, or the problem. */
export type DeliverableContent =
  | { kind: 'content'; content: Buffer; keys: string[] }
  | { kind: 'problem'; message: string; problems: Problem[] };

/** Renders text as a template. Binary content is unchanged, and so is text in other encodings that contains no `{{`. */
export function renderContent(content: Buffer, values: TemplateValues): DeliverableContent {
  if (isBinary(content)) return unmarked(content);
  const invalid = firstInvalidByte(content);
  if (invalid !== undefined) return notUtf8(content, invalid);
  const rendered = renderTemplate(content.toString('utf8'), values, MAX_RENDERED_BYTES);
  if (rendered.kind === 'problem') return rendered;
  return { kind: 'content', content: Buffer.from(rendered.text), keys: rendered.keys };
}

function notUtf8(content: Buffer, invalid: number): DeliverableContent {
  const wide = wideEncodingOf(content);
  const encoding = wide ? ` (its byte order mark is that of ${wide.name})` : '';
  return unlessBraces(content, wide, `byte ${invalid} isn't UTF-8${encoding}`);
}

/** Handles binary content, and UTF-16 without a byte order mark, whose NULs are in the same half of all characters. */
function unmarked(content: Buffer): DeliverableContent {
  const head = content.subarray(0, HEAD_BYTES);
  const halves = new Set<number>();
  for (let at = head.indexOf(0); at !== -1; at = head.indexOf(0, at + 1)) halves.add(at % 2);
  if (halves.size > 1) return { kind: 'content', content, keys: [] };
  const name = halves.has(1) ? 'UTF-16LE' : 'UTF-16BE';
  const wide = WIDE_ENCODINGS.find((encoding) => encoding.name === name);
  return unlessBraces(content, wide, `the text looks like ${name}`);
}

/** Returns the content unchanged, or a problem if it contains `{{` in its encoding. */
function unlessBraces(content: Buffer, wide: WideEncoding | undefined, why: string): DeliverableContent {
  const braces = bracesIn(content, wide?.braces ?? [0x7b, 0x7b], wide ? wide.mark.length : 1);
  if (braces === -1) return { kind: 'content', content, keys: [] };
  const message = `${why}, so the {{ at byte ${braces} can't be rendered: save the file as UTF-8, or map it without template: true`;
  return { kind: 'problem', message, problems: [{ key: 'encoding', message }] };
}

/** Returns the offset of `{{`, which is a multiple of the size of a character, or -1. */
function bracesIn(content: Buffer, braces: number[], step: number): number {
  const wanted = Buffer.from(braces);
  let at = content.indexOf(wanted);
  while (at !== -1 && at % step !== 0) at = content.indexOf(wanted, at + 1);
  return at;
}
