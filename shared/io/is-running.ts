import { codeOf } from '../errors.ts';

/** Whether a process of this machine runs, whoever it belongs to. Nothing does with an id that no process can have. */
export function isRunning(id: number): boolean {
  try {
    // biome-ignore lint/style/noRestrictedGlobals: nothing else can say it
    return id > 0 && process.kill(id, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
