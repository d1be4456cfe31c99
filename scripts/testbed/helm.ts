import path from 'node:path';
import { findBinaries } from './find-binaries.ts';
import { runCommand } from './run-command.ts';

export const chart = path.join(import.meta.dirname, '../../chart');

/** Runs helm, and returns its stdout. Throws `CommandError`. */
export const helm = async (...args: string[]): Promise<string> =>
  await runCommand((await findBinaries('helm')).helm, args);

/** Returns the flags that set values, by their paths. */
export const setFlags = (values: object): string[] =>
  Object.entries(values).map(([name, value]) => `--set-json=${name}=${JSON.stringify(value)}`);
