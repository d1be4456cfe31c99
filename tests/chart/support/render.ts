import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';

/** Directory of the chart. */
export const chart = path.join(import.meta.dirname, '../../../chart');

/** A rendered object; what lies deeper is read with `any`, as tests do. */
export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // biome-ignore lint/suspicious/noExplicitAny: a test that expects another shape fails
  [key: string]: any;
}

/** Runs helm and gives its stdout; throws `CommandError`. */
export async function helm(...args: string[]): Promise<string> {
  return await runCommand((await findBinaries('helm')).helm, args);
}

/** Renders the chart as release `test`, with values as an object. */
export async function render(values: object = {}, { namespace = 'operator' } = {}): Promise<Rendered[]> {
  const flags = Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
  return parse(await helm('template', 'test', chart, '--namespace', namespace, ...flags));
}

/** Renders the chart with a values file. */
export async function renderFile(file: string, { namespace = 'operator' } = {}): Promise<Rendered[]> {
  return parse(await helm('template', 'test', chart, '--namespace', namespace, '--values', file));
}

/** Lists the values files of chart/ci, which between them turn everything on and off. */
export async function listValuesFiles(): Promise<string[]> {
  const directory = path.join(chart, 'ci');
  return (await readdir(directory)).map((file) => path.join(directory, file)).sort();
}

/** Returns the only object of a kind whose name ends with the suffix. */
export function pick(objects: Rendered[], kind: string, suffix = ''): Rendered {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name.endsWith(suffix));
  if (found.length !== 1) throw new Error(`${found.length} objects of kind ${kind} are named *${suffix}, not one.`);
  return found[0]!;
}

/** Returns the plain environment variables of a Deployment's only container. */
export function environmentOf(deployment: Rendered): Record<string, string | undefined> {
  const variables: { name: string; value?: string }[] = deployment.spec.template.spec.containers[0].env;
  return Object.fromEntries(variables.map(({ name, value }) => [name, value]));
}

/** By their text: most are the same in every rendering, and the CRDs take longer to parse than helm to render. */
const parsed = new Map<string, Rendered[]>();

/** Parses the objects in helm's output. */
export function parse(output: string): Rendered[] {
  return output.split(/^---$/m).flatMap((text) => {
    const objects = parsed.get(text) ?? parseText(text);
    parsed.set(text, objects);
    return structuredClone(objects);
  });
}

function parseText(text: string): Rendered[] {
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  return documents.map((document) => document.toJS()).filter(Boolean);
}
