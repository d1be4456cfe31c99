import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import type { Problem } from '../../shared/errors.ts';
import { applyPatches } from './file-patches.ts';
import type { DesiredFile } from './plan-input.ts';
import { MAX_RENDERED_BYTES, renderContent } from './render-content.ts';

/** Content with the keys of a template that it depends on, or the problems, with the message of the first. */
export type RenderedFile =
  | { kind: 'content'; content: Buffer; keys: string[] | undefined }
  | { kind: 'problem'; message: string; problems: Problem[] };

/** Renders a file. Templates come first, so patches can address their output. */
export function renderFile(given: Buffer, file: DesiredFile, values: TemplateValues): RenderedFile {
  const rendered = file.template ? renderContent(given, values) : undefined;
  if (rendered?.kind === 'problem') {
    const named = (message: string) => `${file.source}: ${message}`;
    const problems = rendered.problems.map(({ key, message }) => ({ key: named(key), message: named(message) }));
    return { kind: 'problem', message: named(rendered.message), problems };
  }
  const { content, keys } = rendered ?? { content: given, keys: undefined };
  if (!file.patches) return { kind: 'content', content, keys };
  const patched = applyPatches(content, file.patches);
  if (patched.kind === 'problem') {
    const message = `${file.source} ${patched.message}`;
    return { kind: 'problem', message, problems: [{ key: `${file.source}: patches`, message }] };
  }
  return { kind: 'content', content: patched.content, keys };
}

export const tooLargeForPatch = ({ source }: DesiredFile): string =>
  `${source} is too large to be patched (over ${MAX_RENDERED_BYTES} bytes)`;

export const tooLargeForTemplate = ({ source }: DesiredFile): string =>
  `${source} is too large for a template (over ${MAX_RENDERED_BYTES} bytes): map it without template: true`;
