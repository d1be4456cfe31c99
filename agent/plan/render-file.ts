import type { TemplateValues } from '../../shared/domain/render-template.ts';
import { applyPatches } from './file-patches.ts';
import type { DesiredFile } from './plan-input.ts';
import { MAX_RENDERED_BYTES, renderContent } from './render-content.ts';

/** Content with the keys of a template that it depends on, or the problem. */
export type RenderedFile =
  | { kind: 'content'; content: Buffer; keys: string[] | undefined }
  | { kind: 'problem'; message: string };

/** Renders a file. Templates come first, so patches can address their output. Yields, so that other work can run. */
export function* renderFile(
  given: Buffer,
  file: DesiredFile,
  values: TemplateValues,
): Generator<undefined, RenderedFile> {
  const rendered = file.template ? renderContent(given, values) : undefined;
  if (rendered?.kind === 'problem') return { kind: 'problem', message: `${file.source}: ${rendered.message}` };
  const { content, keys } = rendered ?? { content: given, keys: undefined };
  if (!file.patches) return { kind: 'content', content, keys };
  const patched = yield* applyPatches(content, file.patches);
  if (patched.kind === 'problem') return { kind: 'problem', message: `${file.source} ${patched.message}` };
  return { kind: 'content', content: patched.content, keys };
}

export const tooLargeForPatch = ({ source }: DesiredFile): string =>
  `${source} is too large to be patched (over ${MAX_RENDERED_BYTES} bytes)`;

export const tooLargeForTemplate = ({ source }: DesiredFile): string =>
  `${source} is too large for a template (over ${MAX_RENDERED_BYTES} bytes): map it without template: true`;
