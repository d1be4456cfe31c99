import type { FaultKind, PlannedFault } from '../plan.ts';
import type { World } from '../world/world.ts';

/** Breaks something; gives what to call when it has lasted long enough, or nothing if nothing is left to repair. */
export type Breakage = (world: World, fault: PlannedFault) => Promise<Broken>;

export interface Broken {
  /** What was hit, for the line that is printed. */
  what: string;
  heal?: () => unknown;
}

/** Some of the kinds of faults, and what they do. */
export type Breakages<Kind extends FaultKind> = Record<Kind, Breakage>;

/** The one that a number of the plan stands for. */
export function pick<T>(list: readonly T[], number: number): T {
  const item = list[number % list.length];
  if (item === undefined) throw new Error('there is nothing to break');
  return item;
}
