import type { Level } from '../../../cli/checks/finding.ts';

/** One thing that is done to a cluster in which all is well. */
export type Change =
  | { patch: string; with: object; status?: boolean }
  | { remove: string }
  | { add: string; object: object };

/** A seeded fault, and the finding that must name it. */
export interface Fault {
  name: string;
  change: Change[];
  check: string;
  says: RegExp;
  level?: Level;
  /** More of the command line. */
  line?: string[];
}
