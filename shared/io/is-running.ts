import { codeOf } from '../errors.ts';

/** Returns whether a process of any user runs on this machine; false for invalid ids. */
export function isRunning(id: number): boolean {
  try {
    // biome-ignore lint/style/noRestrictedGlobals: nothing else can say it
    return id > 0 && process.kill(id, 0);
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}
