import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import type { SyntaxFormat } from '../../shared/api/sync.ts';
import { codeOf, TransientError } from '../../shared/errors.ts';
import { startThread } from './start-thread.ts';

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
  /** The format, or the exceeded limit. */
  rule: string;
  problem: string;
}

interface CheckResult {
  problems: FileProblem[];
  /** Whether a file exceeded a limit: the last problem then is that of this file, and the others weren't checked. */
  isEnded: boolean;
}

export interface CheckLimits {
  /** CPU time for all files (ms). A busy node doesn't use it up. */
  cpuMs: number;
  /** Time for one call, even on a busy node (ms). */
  callMs: number;
  /** Heap of the thread (MiB). */
  heapMiB: number;
}

/** Time between two measurements of the thread's CPU time (ms). */
const MEASURE_MS = 50;

/** A thread that checks the syntax of files. It ends when a limit is exceeded. */
export class CheckThread implements AsyncDisposable {
  readonly #worker: Worker;
  /** Number of the file that is being checked. */
  readonly #current: Int32Array;
  readonly #limits: CheckLimits;
  /** CPU time before the first file, mostly to load the parsers. */
  readonly #before: NodeJS.CpuUsage;

  private constructor(worker: Worker, current: Int32Array, limits: CheckLimits, before: NodeJS.CpuUsage) {
    this.#worker = worker;
    this.#current = current;
    this.#limits = limits;
    this.#before = before;
  }

  static async start(limits: CheckLimits): Promise<CheckThread> {
    const current = new Int32Array(new SharedArrayBuffer(4));
    const worker = await startThread('check-worker', limits.heapMiB, { current });
    return new CheckThread(worker, current, limits, await worker.cpuUsage());
  }

  /** Checks files. Throws {@link TransientError} if a busy node delays the thread, and when the signal aborts. */
  async check(requests: CheckRequest[], signal: AbortSignal): Promise<CheckResult> {
    const limit = new AbortController();
    const call = AbortSignal.timeout(this.#limits.callMs);
    const timer = setInterval(() => void this.#measure(limit), MEASURE_MS);
    try {
      await this.#measure(limit);
      const response = once(this.#worker, 'message', { signal: AbortSignal.any([signal, call, limit.signal]) });
      this.#worker.postMessage(
        requests,
        requests.map(({ content }) => content),
      );
      const [problems] = (await response) as [FileProblem[]];
      return { problems, isEnded: false };
    } catch (error) {
      signal.throwIfAborted();
      const problem = this.#limitExceeded(error, limit.signal);
      if (problem !== undefined) {
        return { problems: [{ number: Atomics.load(this.#current, 0), rule: 'limit', problem }], isEnded: true };
      }
      throw call.aborted ? delayed(this.#limits, error) : error;
    } finally {
      clearInterval(timer);
    }
  }

  /** Aborts when the thread has used up its CPU time. */
  async #measure(limit: AbortController): Promise<void> {
    // A thread that has ended has no CPU time.
    const usage = await this.#worker.cpuUsage(this.#before).catch(() => undefined);
    if (usage && usage.user + usage.system > this.#limits.cpuMs * 1000) limit.abort();
  }

  #limitExceeded(error: unknown, limit: AbortSignal): string | undefined {
    const { cpuMs, heapMiB } = this.#limits;
    if (limit.aborted) return `the checks of all files took more than ${cpuMs / 1000} s of CPU time`;
    if (codeOf(error) !== 'ERR_WORKER_OUT_OF_MEMORY') return undefined;
    return `the check needs more than ${heapMiB} MiB of memory: raise spec.agent.resources.limits.memory and recreate the pod, or split the file`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate();
  }
}

const delayed = ({ callMs }: CheckLimits, cause: unknown): TransientError =>
  new TransientError(
    `the checks made no progress for ${callMs / 1000} s because the node is busy, or the agent has too little CPU; retrying`,
    { code: 'sync.checkTimeout', reason: 'CheckFailed', cause },
  );
