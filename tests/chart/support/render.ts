import { cp, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments, stringify } from 'yaml';
import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { makeTemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';

/** Directory of the chart. */
export const chart = path.join(import.meta.dirname, '../../../chart');

const NAME = 'stoker-operator';
/** Helm keeps all that it renders in memory: 170 KB each time. */
const AT_A_TIME = 40;

/** A rendered object; what lies deeper is read with `any`, as tests do. */
export interface Rendered {
  apiVersion: string;
  kind: string;
  metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  // biome-ignore lint/suspicious/noExplicitAny: a test that expects another shape fails
  [key: string]: any;
}

/** Runs helm and gives its stdout; throws `CommandError`. */
export async function helm(...args: string[]): Promise<string> {
  return await runCommand((await findBinaries('helm')).helm, args);
}

interface Call {
  values: object;
  resolve: (objects: Rendered[]) => void;
  reject: (error: unknown) => void;
}

/** Calls that wait for the end of this turn, by namespace. */
const waiting = new Map<string, Call[]>();

/**
 * Renders the chart as release `test`, with values as an object. Calls of one turn share a run of helm, for example those
 * of the tests of a suite that run at the same time.
 */
export function render(values: object = {}, { namespace = 'operator' } = {}): Promise<Rendered[]> {
  const { promise, resolve, reject } = Promise.withResolvers<Rendered[]>();
  const calls = waiting.get(namespace) ?? [];
  if (calls.length === 0) setImmediate(() => void renderWaiting(namespace));
  waiting.set(namespace, [...calls, { values, resolve, reject }]);
  return promise;
}

async function renderWaiting(namespace: string): Promise<void> {
  const calls = waiting.get(namespace) ?? [];
  waiting.delete(namespace);
  const sets = calls.map(({ values }) => values);
  // If one of several is wrong, each is rendered alone.
  const rendered = calls.length > 1 ? await renderTogether(sets, { namespace }).catch(() => []) : [];
  for (const [index, { values, resolve, reject }] of calls.entries())
    await Promise.resolve(rendered[index] ?? renderAlone(values, namespace)).then(resolve, reject);
}

async function renderAlone(values: object, namespace: string): Promise<Rendered[]> {
  const flags = Object.entries(values).map(([key, value]) => `--set-json=${key}=${JSON.stringify(value)}`);
  return parse(await helm('template', 'test', chart, '--namespace', namespace, ...flags));
}

/** How sets of values are rendered. */
interface TogetherOptions {
  namespace?: string;
  /** Changes the copy of the chart in a directory. */
  prepare?: (directory: string) => Promise<void>;
}

/**
 * Renders the chart with each set of values, in a few runs of helm. Starting helm and reading the chart and its schema use
 * most of the CPU time of a run.
 */
export async function renderTogether(sets: object[], options: TogetherOptions = {}): Promise<Rendered[][]> {
  const { namespace = 'operator', prepare } = options;
  const directory = await makeTemporaryDirectory('charts-');
  try {
    const copy = path.join(directory.path, 'charts', NAME);
    await cp(chart, copy, { recursive: true });
    await prepare?.(copy);
    const rendered: Rendered[][] = [];
    for (let first = 0; first < sets.length; first += AT_A_TIME)
      rendered.push(...(await renderParts(directory.path, sets.slice(first, first + AT_A_TIME), namespace)));
    return rendered;
  } finally {
    await directory.remove();
  }
}

/** Renders a chart that has ours as a part for each set of values. A part has its alias for a name, of the same length. */
async function renderParts(directory: string, sets: object[], namespace: string): Promise<Rendered[][]> {
  const aliases = sets.map((_, index) => `stoker-op-${String(index).padStart(5, '0')}`);
  const dependencies = aliases.map((alias) => ({ name: NAME, version: '*', alias }));
  const metadata = { apiVersion: 'v2', name: 'together', version: '0.1.0', dependencies };
  await writeFile(path.join(directory, 'Chart.yaml'), stringify(metadata));
  const flags = sets.flatMap((values, index) =>
    Object.entries(values).map(([key, value]) => `--set-json=${aliases[index]}.${key}=${JSON.stringify(value)}`),
  );
  const output = await helm('template', 'test', directory, '--namespace', namespace, ...flags);
  const texts = Map.groupBy(output.split(/^---$/m), (text) => /^# Source: together\/charts\/([^/]+)/m.exec(text)?.[1]);
  return aliases.map((alias) => parse((texts.get(alias) ?? []).join('---\n').replaceAll(alias, NAME)));
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
