import { createHash } from 'node:crypto';
import type { TemplateValues } from '../../shared/domain/files/render-template.ts';
import { MAX_PROBLEMS, type Problem, TerminalError } from '../../shared/errors.ts';
import { wholeOf } from '../git/blob-reader.ts';
import type { Content } from '../lfs/lfs-store.ts';
import type { DesiredFile, PreviewedContent } from '../plan/plan-input.ts';
import { HEAD_BYTES, isBinary, MAX_RENDERED_BYTES } from '../plan/render-content.ts';
import { tooLargeForPatch, tooLargeForTemplate } from '../plan/render-file.ts';
import { inputsHash } from '../plan/template-values.ts';
import type { ContentReader } from './content-reader.ts';
import { renderApart } from './render-thread.ts';

/** Source of content, and the values for templates in it. */
export interface ContentSource {
  contents: Pick<ContentReader, 'open' | 'openNow'>;
  values: ReadonlyMap<string, string>;
}

/** Takes content in chunks; its result is awaited. */
export type ContentSink = (chunk: Buffer) => unknown;

/** Passes the content that a file must have to the sink. Throws {@link TerminalError} if it can't be rendered. */
export async function deliverContent(
  file: DesiredFile,
  { contents, values }: ContentSource,
  sink: ContentSink,
): Promise<PreviewedContent> {
  const blob = await contents.open(file);
  const isRendered = file.patches || (file.template && blob.size <= MAX_RENDERED_BYTES);
  return isRendered ? await deliverRendered(blob, { file, values }, sink) : await deliverAsIs(blob, file, sink);
}

/** Returns the content of a small file that needs no rendering and has arrived; undefined otherwise. */
export function contentAtHand(file: DesiredFile, { contents }: ContentSource): Buffer | undefined {
  return file.template || file.patches ? undefined : contents.openNow(file);
}

interface Rendering {
  file: DesiredFile;
  values: ReadonlyMap<string, string>;
}

async function deliverRendered(blob: Content, rendering: Rendering, sink: ContentSink): Promise<PreviewedContent> {
  const { file, values } = rendering;
  if (blob.size > MAX_RENDERED_BYTES) {
    for await (const _ of blob.chunks); // so that the next file can be read
    throw tooLarge(file, tooLargeForPatch(file));
  }
  const rendered = await renderApart(await wholeOf(blob), file, values);
  if (rendered.kind === 'problem') throw contentError(rendered);
  const { content, keys } = rendered;
  await sink(content);
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { sha256, inputs: keys && { keys, hash: inputsHash(keys, values) }, lfs: blob.lfs };
}

async function deliverAsIs(blob: Content, file: DesiredFile, sink: ContentSink): Promise<PreviewedContent> {
  const hash = createHash('sha256');
  let head = Buffer.alloc(0);
  for await (const chunk of blob.chunks) {
    if (file.template && head.length < HEAD_BYTES) head = Buffer.concat([head, chunk.subarray(0, HEAD_BYTES)]);
    hash.update(chunk);
    await sink(chunk);
  }
  if (file.template && !isBinary(head)) {
    throw tooLarge(file, tooLargeForTemplate(file));
  }
  return {
    sha256: hash.digest('hex'),
    inputs: file.template ? { keys: [], hash: inputsHash([], NO_VALUES) } : undefined,
    lfs: blob.lfs,
  };
}

const NO_VALUES: TemplateValues = new Map();

const contentError = ({ message, problems }: { message: string; problems: Problem[] }) =>
  new TerminalError(message, { code: 'content.invalid', reason: 'ContentInvalid', problems });

const tooLarge = ({ source }: DesiredFile, message: string) =>
  contentError({ message, problems: [{ key: `${source}: size`, message }] });

/** Checks for a problem of one file, after which others can be read. */
const isOfFile = (error: unknown): error is TerminalError =>
  error instanceof TerminalError && ['content.invalid', 'lfs.pointer'].includes(error.code);

interface PreviewOptions extends ContentSource {
  /** Whether to look for the problems of all files, and not only of the first one that has any. */
  findsAll?: boolean | undefined;
  signal: AbortSignal;
}

/** Returns previews of the files by path: renders them as a sync does, and throws the same errors. */
export async function previewContents(
  files: DesiredFile[],
  { findsAll = false, signal, ...source }: PreviewOptions,
): Promise<Map<string, PreviewedContent>> {
  const contents = new Map<string, PreviewedContent>();
  const problems: Problem[] = [];
  for (const file of files) {
    signal.throwIfAborted();
    try {
      contents.set(file.path, await deliverContent(file, source, () => {}));
    } catch (error) {
      if (!findsAll || !isOfFile(error)) throw error;
      problems.push(...error.problems);
      if (problems.length >= MAX_PROBLEMS) break;
    }
  }
  const [first] = problems;
  if (first) throw contentError({ message: first.message, problems });
  return contents;
}
