import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import type { Program } from '../../images/programs.ts';
import { readNodeFlags } from '../../images/read-entry-point.ts';
import { type GuardedProcess, startGuarded, tailOf } from '../../testbed/guarded-process.ts';
import type { ApiProxy } from './api-proxy.ts';

const root = path.join(import.meta.dirname, '../../..');

/** Shorter than a kubelet's, because programs that hang will keep hanging. */
const GRACE_MS = 10_000;

/** Options for each start of a program. */
interface ProgramOptions {
  /** Name in output, and of its log. */
  name: string;
  program: Program;
  environment: Record<string, string>;
  proxy: ApiProxy;
  logs: string;
}

/** An unexpected end of a process. */
export interface ProgramEnd {
  what: string;
  /** Last lines of its log. */
  log: string;
}

/** One of the product's programs: its bundle with the flags of its image, which can be killed, stopped, and started. */
export class ManagedProgram {
  readonly name: string;
  readonly proxy: ApiProxy;
  readonly log: string;
  readonly #options: ProgramOptions;
  readonly #flags: string[];
  #process: GuardedProcess | undefined;
  /** Peak memory of any of its processes, in kB. */
  peakKb = 0;
  readonly ends: ProgramEnd[] = [];
  #isWanted = false;
  #isRetired = false;

  private constructor(options: ProgramOptions, flags: string[]) {
    this.name = options.name;
    this.proxy = options.proxy;
    this.log = path.join(options.logs, `${options.name}.log`);
    this.#options = options;
    this.#flags = flags;
  }

  static async make(options: ProgramOptions): Promise<ManagedProgram> {
    await mkdir(options.logs, { recursive: true });
    return new ManagedProgram(options, await readNodeFlags(options.program));
  }

  get pid(): number | undefined {
    return this.#process?.hasExited() === false ? this.#process.pid : undefined;
  }

  /** Starts it, unless it is running or retired. */
  start(): void {
    if (this.#isRetired || this.pid !== undefined) return;
    const { program, environment } = this.#options;
    const { PATH = '', HOME = '' } = process.env;
    const NODE_COMPILE_CACHE = path.join(root, 'node_modules/.cache/compiled');
    const env = { PATH, HOME, MALLOC_ARENA_MAX: '1', NODE_COMPILE_CACHE, ...environment };
    const command = [...this.#flags, path.join(root, 'dist', `${program}.mjs`)];
    const started = startGuarded(process.execPath, command, { env, output: { log: this.log } });
    this.#isWanted = true;
    this.#process = started;
    void started.exited.then((end) => {
      if (this.#isWanted && this.#process === started) void this.#end(end);
    });
  }

  /** Restarts it after it exits by itself, like a kubelet. A controller exits when it loses its Lease. */
  async #end({ code, signal }: { code: number | null; signal: string | null }): Promise<void> {
    this.ends.push({ what: `${this.name} ended with ${signal ?? `status ${code}`}`, log: await tailOf(this.log) });
    setTimeout(() => this.#isWanted && this.start(), 500).unref();
  }

  /** Kills it at once. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    this.measure();
    this.#process?.child.kill('SIGKILL');
    await this.#process?.exited;
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
    if (this.pid === undefined) return;
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
      this.peakKb = Math.max(this.peakKb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0));
    } catch {
      // It has just exited, or this isn't Linux.
    }
  }
}
