import { isUtf8 } from 'node:buffer';
import { renderTemplate, type TemplateValues } from '../../shared/domain/render-template.ts';

/** As many bytes as git looks at to tell text from binary. */
export const HEAD_BYTES = 8_000;

/** Whether the content is binary by git's rule: a NUL among the first bytes. */
export function isBinary(head: Buffer): boolean {
  return head.subarray(0, HEAD_BYTES).includes(0);
}

/** Content to deliver and the keys it depends on; or what is wrong. */
export type DeliverableContent =
  | { kind: 'content'; content: Buffer; keys: string[] }
  | { kind: 'problem'; message: string };

/** Renders text as a template; binary content, and text that is not UTF-8, stays as it is. */
export function renderContent(content: Buffer, values: TemplateValues): DeliverableContent {
  if (isBinary(content) || !isUtf8(content)) return { kind: 'content', content, keys: [] };
  const rendered = renderTemplate(content.toString('utf8'), values);
  if (rendered.kind === 'problem') return rendered;
  return { kind: 'content', content: Buffer.from(rendered.text), keys: rendered.keys };
}
