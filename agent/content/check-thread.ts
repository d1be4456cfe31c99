import { once } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { SyntaxFormat } from '../../shared/api/sync.ts';
import { codeOf } from '../../shared/errors.ts';
import { version } from '../../shared/version.ts';

/** A file to check. Its content is moved to the thread. */
export interface CheckRequest {
  /** Identifies the file. */
  number: number;
  format: SyntaxFormat;
  content: ArrayBuffer;
}

/** The first problem of a file. */
export interface FileProblem {
  number: number;
  problem: string;
}

interface CheckResult {
  problems: FileProblem[];
  /** Whether a file exceeded a limit: the last problem then is that of this file, and the others weren't checked. */
  isEnded: boolean;
}

export interface CheckLimits {
  /** Time for all files (ms). */
  timeMs: number;
  /** Heap of the thread (MiB). */
  heapMiB: number;
}

/** Space of V8's heap for new objects, as in the main thread (MiB). */
const NEW_OBJECTS = 6;

/** A thread that checks the syntax of files. It ends when a limit is exceeded. */
export class CheckThread implements AsyncDisposable {
  readonly #worker: Worker;
  /** Number of the file that is being checked. */
  readonly #current: Int32Array;
  readonly #heapMiB: number;
  readonly #timeMs: number;
  #leftMs: number;

  private constructor(worker: Worker, current: Int32Array, { timeMs, heapMiB }: CheckLimits) {
    this.#worker = worker;
    this.#current = current;
    this.#heapMiB = heapMiB;
    this.#timeMs = timeMs;
    this.#leftMs = timeMs;
  }

  static async start(limits: CheckLimits): Promise<CheckThread> {
    const current = new Int32Array(new SharedArrayBuffer(4));
    // V8's flag, which the image sets, takes precedence over `resourceLimits`. It only affects new threads.
    setFlagsFromString(`--max-old-space-size=${limits.heapMiB}`);
    const file = version === 'dev' ? './check-worker.ts' : './check-worker.mjs';
    const worker = new Worker(new URL(file, import.meta.url), {
      workerData: { current },
      env: {},
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.heapMiB, maxYoungGenerationSizeMb: NEW_OBJECTS },
    });
    // Without a listener, an error ends the program.
    worker.on('error', () => {});
    await once(worker, 'message');
    return new CheckThread(worker, current, limits);
  }

  async check(requests: CheckRequest[]): Promise<CheckResult> {
    const started = performance.now();
    const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(this.#leftMs)));
    try {
      const response = once(this.#worker, 'message', { signal: timeout });
      this.#worker.postMessage(
        requests,
        requests.map(({ content }) => content),
      );
      const [problems] = (await response) as [FileProblem[]];
      this.#leftMs -= performance.now() - started;
      return { problems, isEnded: false };
    } catch (error) {
      const problem = this.#limitExceeded(error, timeout);
      if (problem === undefined) throw error;
      return { problems: [{ number: Atomics.load(this.#current, 0), problem }], isEnded: true };
    }
  }

  #limitExceeded(error: unknown, timeout: AbortSignal): string | undefined {
    if (timeout.aborted) return `the checks of all files took longer than ${this.#timeMs / 1000} s`;
    if (codeOf(error) !== 'ERR_WORKER_OUT_OF_MEMORY') return undefined;
    return `the check needs more than ${this.#heapMiB} MiB of memory: raise spec.agent.resources.limits.memory and recreate the pod, or split the file`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}
