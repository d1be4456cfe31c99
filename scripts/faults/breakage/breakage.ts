import type { FaultKind, PlannedFault } from '../plan.ts';
import type { World } from '../world/world.ts';

/** Breaks something; returns a function that repairs it, or none if nothing is left to repair. */
export type Breakage = (world: World, fault: PlannedFault) => Promise<Broken>;

export interface Broken {
  /** Description for the log, such as `killed controller-0`. */
  did: string;
  heal?: () => unknown;
}

/** Some of the kinds of faults. */
export type Breakages = Partial<Record<FaultKind, Breakage>>;

/** Returns the entry for a number of the plan. */
export function pick<T>(list: readonly T[], number: number): T {
  const item = list[number % list.length];
  if (item === undefined) throw new Error('there is nothing to break');
  return item;
}
