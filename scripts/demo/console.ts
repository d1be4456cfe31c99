import { runProgram } from '../../cli/program/run.ts';
import { inkFor } from '../../cli/terminal/ink.ts';
import { drawTable } from '../../cli/terminal/table.ts';
import { drawTimeline, type Moment } from '../../cli/terminal/timeline.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { NAMESPACE } from './objects.ts';

/** True if colours and cursor movements are allowed. */
export const isTerminal = process.stdout.isTTY === true && !process.env.NO_COLOR;

/** Writes a text in a colour if colours are allowed. */
export const ink = inkFor(isTerminal);

export const bold = (text: string): string => ink('bold', text);
export const dim = (text: string): string => ink('dim', text);

/** Prints the headline of a part of the demo. */
export function headline(text: string): void {
  console.log(`\n${bold(text)}`);
}

/** Prints a line. */
export function say(text: string): void {
  console.log(`  ${text}`);
}

/** Prints a command and its output. */
function show(command: string, output: string): void {
  console.log(`\n  ${ink('cyan', `$ ${command}`)}`);
  for (const line of output.trimEnd().split('\n')) console.log(`  ${line}`);
}

/** Draws a timeline: a line for each moment, with a bar as long as the time since the beginning. */
export function timeline(moments: Moment[]): void {
  for (const line of drawTimeline(moments, { columns: undefined, ink })) console.log(`  ${line}`);
}

/** https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables */
interface Table {
  columnDefinitions: { name: string; priority: number }[];
  rows: { cells: unknown[] }[];
}

/** Prints a collection as the table of `kubectl get`. */
export async function showTable(client: KubernetesClient, plural: string, path: string): Promise<void> {
  const { columnDefinitions, rows } = await client.getAs<Table>(path, {
    accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
  });
  // The other columns are for `--output wide`.
  const shown = columnDefinitions.flatMap(({ name, priority }, index) => (priority === 0 ? [{ name, index }] : []));
  const titles = shown.map(({ name }) => ({ title: name.toUpperCase() }));
  const cells = rows.map((row) => shown.map(({ index }) => String(row.cells[index] ?? '')));
  const table = drawTable(titles, cells, { columns: undefined, ink: inkFor(false) });
  show(`kubectl get ${plural}`, table.join('\n'));
}

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
