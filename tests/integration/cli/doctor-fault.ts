import type { Level } from '../../../cli/checks/finding.ts';

/** One change of a healthy cluster. */
export type Change =
  | { patch: string; with: object; status?: boolean }
  | { remove: string }
  | { add: string; object: object };

/** A fault and its expected finding. */
export interface Fault {
  name: string;
  change: Change[];
  check: string;
  says: RegExp;
  level?: Level;
  /** Additional arguments. */
  line?: string[];
}
