import { parentPort } from 'node:worker_threads';
import { renderFile } from '../plan/render-file.ts';
import type { RenderRequest } from './render-thread.ts';

/** Renders one file in a thread, because a large file would keep the main thread from responding to probes. */
parentPort?.on('message', ({ content, file, values }: RenderRequest) => {
  parentPort?.postMessage(renderFile(Buffer.from(content), file, values));
});
parentPort?.postMessage('ready');
