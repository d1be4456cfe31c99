import fc from 'fast-check';
import { byDepth, SEED } from './depth.ts';

fc.configureGlobal({ seed: SEED });

/** Returns the number of runs of a property: a tenth of it without full depth. */
export function runs(full: number): number {
  return byDepth(Math.ceil(full / 10), full);
}

export { fc };
