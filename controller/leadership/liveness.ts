import type { Logger } from '../../shared/log.ts';

/** Something that must go on for the program to be of use. */
export interface Loop {
  name: string;
  /** Milliseconds without progress, though there is something to do. */
  stuckForMs: () => number;
  /** Time after which only a restart helps (ms); longer than all time limits of the loop together. */
  limitMs: number;
}

/** Checks for the kubelet whether a restart is due because a loop has stopped, and logs which one. */
export function checkLiveness(loops: Loop[], log: Logger): boolean {
  const stuck = loops.filter(({ stuckForMs, limitMs }) => stuckForMs() > limitMs);
  for (const { name, stuckForMs } of stuck) {
    const fields = { loop: name, stuckForMs: Math.round(stuckForMs()) };
    log.error(fields, 'no progress: the liveness probe fails from now on');
  }
  return stuck.length === 0;
}
