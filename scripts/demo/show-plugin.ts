import { runProgram } from '../../cli/program/run.ts';
import { isTerminal, show } from './console.ts';
import { NAMESPACE } from './objects.ts';

/** Columns of the console that the demo indents. */
const INDENT = 2;

/** Prints the output of `kubectl stoker`, which runs in this process. */
export async function showPlugin(kubeconfig: string, ...line: string[]): Promise<void> {
  let output = '';
  const add = (text: string) => {
    output += text;
  };
  await runProgram([...line, '--namespace', NAMESPACE, '--kubeconfig', kubeconfig], {
    print: add,
    note: add,
    hasColours: isTerminal,
    confirm: undefined,
    now: () => Date.now(),
    columns: isTerminal ? process.stdout.columns - INDENT : undefined,
  });
  show(`kubectl stoker ${line.join(' ')}`, output);
}
