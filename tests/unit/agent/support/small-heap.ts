import { runCommand } from '../../../../scripts/testbed/run-command.ts';

const FLAGS = ['--max-old-space-size=64', '--max-semi-space-size=2', '--input-type=module'];

/** Runs a script in a process with the heap of a container of 128 MiB, and returns its output. */
export async function runInSmallHeap(script: string): Promise<string> {
  return (await runCommand(process.execPath, [...FLAGS, '--eval', script])).trim();
}

/** A file of the repository as an import's text. */
export const importable = (file: string): string =>
  JSON.stringify(new URL(`../../../../${file}`, import.meta.url).href);
