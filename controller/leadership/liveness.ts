import type { Logger } from '../../shared/log.ts';

/** Something that must go on for the program to be of use. */
export interface Loop {
  name: string;
  /** Milliseconds without progress, though there is something to do. */
  stuckForMs: () => number;
  /** Time after which only a restart helps (ms); longer than all time limits of the loop together. */
  limitMs: number;
}

/** Tells the kubelet whether a restart is due: whether a loop has stopped, not whether others answer. */
export class Liveness {
  readonly #loops: Loop[];
  readonly #log: Logger;

  constructor(loops: Loop[], log: Logger) {
    this.#loops = loops;
    this.#log = log;
  }

  get isAlive(): boolean {
    const stuck = this.#loops.filter(({ stuckForMs, limitMs }) => stuckForMs() > limitMs);
    for (const { name, stuckForMs } of stuck)
      this.#log.error(
        { loop: name, stuckForMs: Math.round(stuckForMs()) },
        'no progress: the liveness probe fails from now on',
      );
    return stuck.length === 0;
  }
}
