import { once } from 'node:events';
import { getHeapStatistics } from 'node:v8';
import { codeOf } from '../../shared/errors.ts';
import type { DesiredFile } from '../plan/plan-input.ts';
import { isBinary } from '../plan/render-content.ts';
import { type RenderedFile, renderFile } from '../plan/render-file.ts';
import { startThread } from './start-thread.ts';

/** A file to render. Its content is moved to the thread. */
export interface RenderRequest {
  content: ArrayBuffer;
  file: DesiredFile;
  values: ReadonlyMap<string, string>;
}

/** Content up to this size takes a few milliseconds, less than the start of a thread. */
const SMALL_BYTES = 64 * 1024;
const MIB = 1024 ** 2;
/** V8 needs this much for itself (MiB). */
const MIN_HEAP = 16;

/**
 * Renders a file, and starts a thread for a large one, so that probes get a response in the meantime. A small template
 * can have a large output, so its patches are a separate step.
 */
export async function renderApart(
  content: Buffer,
  file: DesiredFile,
  values: ReadonlyMap<string, string>,
): Promise<RenderedFile> {
  if (content.length > SMALL_BYTES && isWork(content, file)) return await renderInThread(content, file, values);
  const { patches, ...template } = file;
  const rendered = renderFile(content, template, values);
  if (rendered.kind === 'problem' || !patches) return rendered;
  const patched = { ...file, template: false };
  const isLarge = rendered.content.length > SMALL_BYTES;
  const result = isLarge
    ? await renderInThread(rendered.content, patched, values)
    : renderFile(rendered.content, patched, values);
  return result.kind === 'problem' ? result : { ...result, keys: rendered.keys };
}

/** Whether a file has more to render than a check of its encoding. A directory of templates can have many others. */
const isWork = (content: Buffer, { patches }: DesiredFile): boolean =>
  patches !== undefined || (!isBinary(content) && content.includes('{{'));

/** The thread can use the heap that the main thread, which waits for it, doesn't use. */
async function renderInThread(
  content: Buffer,
  file: DesiredFile,
  values: ReadonlyMap<string, string>,
): Promise<RenderedFile> {
  const { heap_size_limit: limit, used_heap_size: used } = getHeapStatistics();
  const heapMiB = Math.max(MIN_HEAP, Math.floor((limit - used) / MIB));
  const worker = await startThread('render-worker', heapMiB);
  try {
    const response = once(worker, 'message');
    const request: RenderRequest = { content: new Uint8Array(content).buffer, file, values };
    worker.postMessage(request, [request.content]);
    const [rendered] = (await response) as [RenderedFile];
    return rendered.kind === 'problem' ? rendered : { ...rendered, content: Buffer.from(rendered.content) };
  } catch (error) {
    if (codeOf(error) !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    const message = `${file.source} needs more than ${heapMiB} MiB of memory to be rendered: raise spec.agent.resources.limits.memory and recreate the pod, or split the file`;
    return { kind: 'problem', message, problems: [{ key: `${file.source}: memory`, message }] };
  } finally {
    await worker.terminate();
  }
}
