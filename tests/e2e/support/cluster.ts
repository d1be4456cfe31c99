import { findBinaries } from '../../../scripts/testbed/find-binaries.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';

let binaries: ReturnType<typeof findBinaries<'helm' | 'kubectl'>> | undefined;

const find = () => {
  binaries ??= findBinaries('helm', 'kubectl');
  return binaries;
};

/** Runs kubectl on the cluster that KUBECONFIG names and gives its stdout; throws `CommandError`. */
export async function kubectl(...args: string[]): Promise<string> {
  return await runCommand((await find()).kubectl, args);
}

/** The same with `input`, text or an object, as the file `-`. */
export async function kubectlWith(input: string | object, ...args: string[]): Promise<string> {
  const text = typeof input === 'string' ? input : JSON.stringify(input);
  return await runCommand((await find()).kubectl, args, { input: text });
}

/** Returns an object, or a list of objects, from kubectl's JSON. */
export async function getJson<T>(...args: string[]): Promise<T> {
  return JSON.parse(await kubectl('get', ...args, '--output', 'json')) as T;
}

/** Applies objects on the server side. */
export async function apply(...items: object[]): Promise<void> {
  await kubectlWith({ apiVersion: 'v1', kind: 'List', items }, 'apply', '--server-side', '--filename', '-');
}

/** Runs helm on the cluster that KUBECONFIG names and gives its stdout; throws `CommandError`. */
export async function helm(...args: string[]): Promise<string> {
  return await runCommand((await find()).helm, args);
}

/** Returns the image of a program in the end-to-end tests, in two parts as in the chart's values. */
export function imageOf(program: 'agent' | 'controller' | 'receiver'): { repository: string; tag: string } {
  const { E2E_IMAGE_REGISTRY = 'stoker-operator', E2E_IMAGE_TAG = 'e2e' } = process.env;
  return { repository: `${E2E_IMAGE_REGISTRY}/${program}`, tag: E2E_IMAGE_TAG };
}
