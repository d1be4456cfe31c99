import type { FaultKind, PlannedFault } from '../plan.ts';
import type { World } from '../world/world.ts';

/** Breaks something; gives what to call when it has lasted long enough, or nothing if nothing is left to repair. */
export type Breakage = (world: World, fault: PlannedFault) => Promise<Broken>;

export interface Broken {
  /** What it did, such as `killed controller-0`, for the line that is printed. */
  did: string;
  heal?: () => unknown;
}

/** Some of the kinds of faults. */
export type Breakages = Partial<Record<FaultKind, Breakage>>;

/** The one that a number of the plan stands for. */
export function pick<T>(list: readonly T[], number: number): T {
  const item = list[number % list.length];
  if (item === undefined) throw new Error('there is nothing to break');
  return item;
}
