import { runProgram } from '../../cli/program/run.ts';
import type { Host } from '../../cli/terminal/host.ts';

/** Result of a command line of `kubectl stoker`. */
export interface CliResult {
  status: number;
  /** Output, and notes on stderr. */
  output: string;
  notes: string;
}

/** Runs `kubectl stoker` in this process, with a host that records all output. */
export async function runCli(line: readonly string[], given: Partial<Host> = {}): Promise<CliResult> {
  let output = '';
  let notes = '';
  const host: Host = {
    print: (text) => {
      output += text;
    },
    note: (text) => {
      notes += text;
    },
    columns: undefined,
    hasColours: false,
    confirm: undefined,
    now: () => Date.now(),
    ...given,
  };
  const status = await runProgram(line, host);
  return { status, output, notes };
}
