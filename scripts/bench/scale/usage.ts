import { readCpuSeconds, readMemory } from '../support/process-usage.ts';
import { readMetric } from '../support/read-metric.ts';
import type { Replica } from './programs.ts';

const API_CALLS = {
  controller: 'sync_controller_api_calls_total',
  receiver: 'sync_receiver_patch_duration_seconds_count',
};

/** Resources that the replicas used over a span of time. */
export interface Usage {
  /** Percent of one core, by the name of the replica. */
  cpuPercent: Map<string, number>;
  /** Calls to the API server a second, of all replicas together. */
  callsPerSecond: number;
}

/** Measures the replicas' CPU time and API calls during some work. */
export async function measureUsage<T>(
  replicas: Replica[],
  work: () => Promise<T>,
): Promise<{ usage: Usage; result: T }> {
  const read = async () => ({
    cpu: await Promise.all(replicas.map(({ pid }) => readCpuSeconds(pid).catch(() => 0))),
    calls: await Promise.all(replicas.map(({ metricsPort, kind }) => readMetric(metricsPort, API_CALLS[kind]))),
  });
  const before = await read();
  const started = performance.now();
  const result = await work();
  const after = await read();
  const seconds = (performance.now() - started) / 1000;
  const rate = (index: number, what: 'cpu' | 'calls') =>
    ((after[what][index] ?? 0) - (before[what][index] ?? 0)) / seconds;
  const usage = {
    cpuPercent: new Map(replicas.map(({ name }, index) => [name, 100 * rate(index, 'cpu')])),
    callsPerSecond: replicas.reduce((sum, _, index) => sum + rate(index, 'calls'), 0),
  };
  return { usage, result };
}

/** Samples the memory of replicas four times a second, and keeps each peak of memory that the kernel can't reclaim, in MB. */
export class MemoryPeaks {
  readonly byName = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(replicas: readonly Replica[]) {
    this.#timer = setInterval(() => {
      for (const { name, pid } of replicas) void this.#read(name, pid);
    }, 250);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #read(name: string, pid: number): Promise<void> {
    const memory = await readMemory(pid).catch(() => undefined); // it may have exited
    if (memory) this.byName.set(name, Math.max(this.byName.get(name) ?? 0, memory.own));
  }
}
