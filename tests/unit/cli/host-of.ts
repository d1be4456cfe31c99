import type { Host } from '../../../cli/terminal/host.ts';

/** A terminal with this number of columns, or a pipe. */
export const hostOf = (columns: number | undefined, changes: Partial<Host> = {}): Host => ({
  print: () => {},
  note: () => {},
  columns,
  hasColours: false,
  confirm: undefined,
  now: () => 0,
  ...changes,
});
