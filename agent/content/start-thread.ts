import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { version } from '../../shared/version.ts';

/** Space of V8's heap for new objects, as in the main thread (MiB). */
const NEW_OBJECTS = 6;

/** Starts a thread with a heap limit (MiB), and returns when its program is loaded. */
export async function startThread(name: string, heapMiB: number, workerData?: object): Promise<Worker> {
  // V8's flag, which the image sets, takes precedence over `resourceLimits`. It only affects new threads.
  setFlagsFromString(`--max-old-space-size=${heapMiB}`);
  const file = `./${name}.${version === 'dev' ? 'ts' : 'mjs'}`;
  const worker = new Worker(new URL(file, import.meta.url), {
    workerData,
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: NEW_OBJECTS },
  });
  // Without a listener, an error ends the program.
  worker.on('error', () => {});
  await once(worker, 'message');
  return worker;
}
