import path from 'node:path';
import type { Program } from '../../images/programs.ts';
import { type ProcessEnd, tailOf } from '../../testbed/guarded-process.ts';
import { memoryOf } from '../../testbed/memory-limit.ts';
import { programStarter, type RunningProgram } from '../../testbed/programs.ts';
import type { ApiProxy } from './api-proxy.ts';

const NODE_COMPILE_CACHE = path.join(import.meta.dirname, '../../../node_modules/.cache/compiled');

/** Shorter than a kubelet's, because programs that hang will keep hanging. */
const GRACE_MS = 10_000;

interface Options {
  program: Program;
  environment: Record<string, string>;
  proxy: ApiProxy;
  /** Directory of its log. */
  logs: string;
}

/** An unexpected end of a process. */
export interface ProgramEnd {
  what: string;
  /** Last lines of its log. */
  log: string;
}

/** One of the product's programs, which can be killed, stopped, and started. */
export class ManagedProgram {
  readonly name: string;
  readonly proxy: ApiProxy;
  readonly #launch: () => RunningProgram;
  #process: RunningProgram | undefined;
  /** Peak memory of any of its processes, in kB. */
  peakKb = 0;
  readonly ends: ProgramEnd[] = [];
  #isWanted = false;
  #isRetired = false;

  private constructor(name: string, proxy: ApiProxy, launch: () => RunningProgram) {
    this.name = name;
    this.proxy = proxy;
    this.#launch = launch;
  }

  /** Prepares a program without starting it; `name` is its name in output, and of its log. */
  static async make(name: string, { program, environment, proxy, logs }: Options): Promise<ManagedProgram> {
    const settings = { NODE_COMPILE_CACHE, LOG_LEVEL: 'debug', ...environment };
    return new ManagedProgram(name, proxy, await programStarter(program, { name, logs, environment: settings }));
  }

  get #isRunning(): boolean {
    return this.#process?.hasExited() === false;
  }

  /** Starts it, unless it is running or retired. */
  start(): void {
    if (this.#isRetired || this.#isRunning) return;
    const started = this.#launch();
    this.#isWanted = true;
    this.#process = started;
    void started.exited.then((end) => {
      if (this.#isWanted && this.#process === started) void this.#restart(started, end);
    });
  }

  /** Restarts it after it exits by itself, like a kubelet. A controller exits when it loses its Lease. */
  async #restart({ log }: RunningProgram, { code, signal }: ProcessEnd): Promise<void> {
    this.ends.push({ what: `${this.name} ended with ${signal ?? `status ${code}`}`, log: await tailOf(log) });
    setTimeout(() => this.#isWanted && this.start(), 500).unref();
  }

  /** Kills it at once. */
  async kill(): Promise<void> {
    this.#process?.child.kill('SIGKILL');
    await this.terminate();
  }

  /** Kills it for good, because its pod is gone. An earlier fault may still be about to start it again. */
  async retire(): Promise<void> {
    this.#isRetired = true;
    await this.kill();
  }

  /** Shuts it down with SIGTERM, as a kubelet does first. */
  async terminate(): Promise<void> {
    this.#isWanted = false;
    this.measure();
    await this.#process?.stop(GRACE_MS);
  }

  /** Freezes it; returns a function that continues it. */
  pause(): () => void {
    const stopped = this.#process;
    stopped?.child.kill('SIGSTOP');
    return () => void stopped?.child.kill('SIGCONT');
  }

  /** Reads its peak memory from the kernel. */
  measure(): void {
    if (this.#process && this.#isRunning) this.peakKb = Math.max(this.peakKb, memoryOf(this.#process.pid, 'VmHWM'));
  }
}
