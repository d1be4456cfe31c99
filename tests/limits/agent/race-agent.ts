import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

interface Answer {
  round: number;
  /** Missing where another agent has the volume. */
  commit?: string;
}

/** An agent in its own process, which is killed and stopped at will. */
export class RaceAgent {
  readonly name: string;
  readonly #child: ChildProcess;
  answer: Answer | undefined;
  readonly problems: string[] = [];
  isStopped = false;

  constructor(program: string, order: { data: string; name: string; isAtomic: boolean }) {
    this.name = order.name;
    this.#child = spawn(process.execPath, [program, JSON.stringify(order)], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdin?.on('error', () => {});
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = JSON.parse(line) as Answer & { problem?: string };
      if (said.problem) this.problems.push(said.problem);
      else this.answer = said;
    });
  }

  tell(round: number): void {
    this.#child.stdin?.write(`${round}\n`);
  }

  stop(): void {
    this.isStopped = this.#child.kill('SIGSTOP');
  }

  wake(): void {
    this.isStopped = false;
    this.#child.kill('SIGCONT');
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async kill(): Promise<void> {
    if (!this.isRunning) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }
}
