import { AsyncLocalStorage } from 'node:async_hooks';
import type { TestContext } from 'node:test';

// Takes the place of node:test: collects the tests of the files that are loaded, so that each can run many times.

type Hooks = (() => Promise<unknown>)[];

export interface CollectedTest {
  title: string;
  /** Of the file and each suite around the test; each hook runs once. */
  hooks: Hooks[];
  body: (t: TestContext) => unknown;
}

const runner = process.getBuiltinModule('node:test');
const suites = new AsyncLocalStorage<CollectedTest>();
const tests: CollectedTest[] = [];
const unfinished: unknown[] = [];

/** Loads a file, and returns its tests. */
export async function collectTests(title: string, body: () => Promise<unknown>): Promise<CollectedTest[]> {
  await suites.run({ title, hooks: [[]], body }, body);
  await Promise.all(unfinished.splice(0));
  return tests.splice(0);
}

/** Runs a test with Node's runner, and returns how it failed. */
export async function failureOf({ title, hooks, body }: CollectedTest, timeout: number) {
  let context: TestContext | undefined;
  await runner.test(title, { timeout }, async (t) => {
    context = t;
    for (const run of hooks.flat()) await run();
    await body(t);
  });
  if (!context || context.passed) return undefined;
  const { message, failureType } = context.error as Error & { failureType?: string };
  return { message: message.split('\n', 1)[0], isTimeout: failureType === 'testTimeoutFailure' };
}

type Body = CollectedTest['body'];
type Declaration = [title: string, options: { skip?: unknown } | Body, body?: Body];

function collect(
  [title, options, body = options as Body]: Declaration,
  to: (collected: CollectedTest) => unknown,
): void {
  const suite = suites.getStore();
  if (!suite || ('skip' in options && options.skip)) return;
  to({ ...suite, title: `${suite.title} › ${title}`, body });
}

export const test = (...declaration: Declaration) => collect(declaration, (collected) => tests.push(collected));
export const it = (...declaration: Declaration) => test(...declaration);

export function suite(...declaration: Declaration): void {
  collect(declaration, ({ hooks, ...rest }) => {
    unfinished.push(suites.run({ ...rest, hooks: [...hooks, []] }, rest.body as () => unknown));
  });
}

export function before(hook: () => unknown): void {
  let done: Promise<unknown> | undefined;
  suites
    .getStore()
    ?.hooks.at(-1)
    ?.push(() => (done ??= Promise.resolve(hook())));
}

/** All that the tests have started ends with their process. */
export function after(): void {}
