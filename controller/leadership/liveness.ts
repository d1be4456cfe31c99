import type { Logger } from '../../shared/log.ts';

/** A loop without which the program is useless. */
export interface Loop {
  name: string;
  /** Time without progress although there is work (ms). */
  stuckForMs: () => number;
  /** Time after which only a restart helps (ms); longer than all time limits of the loop together. */
  limitMs: number;
}

/** Checks for the kubelet whether a loop has stopped and a restart is due, and logs the loop. */
export function checkLiveness(loops: Loop[], log: Logger): boolean {
  const stuck = loops.filter(({ stuckForMs, limitMs }) => stuckForMs() > limitMs);
  for (const { name, stuckForMs } of stuck) {
    const fields = { loop: name, stuckForMs: Math.round(stuckForMs()) };
    log.error(fields, 'no progress: the liveness probe fails from now on');
  }
  return stuck.length === 0;
}
