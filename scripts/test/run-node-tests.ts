import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Slots } from '../../shared/domain/slots.ts';
import { startGuarded } from '../testbed/guarded-process.ts';
import { makeTemporaryFolder } from '../testbed/temporary-folder.ts';
import { longestFirst } from './longest-first.ts';
import { sharesOf } from './shares-of.ts';
import { sumOfTallies, type Tally, tallyOfFailure } from './tally.ts';
import { TestOutput } from './test-output.ts';

const root = path.join(import.meta.dirname, '../..');
const linesReporter = path.join(import.meta.dirname, 'lines-reporter.ts');
const tallyReporter = path.join(import.meta.dirname, 'tally-reporter.ts');
const slimImports = path.join(import.meta.dirname, 'slim-imports.ts');

/** Helm and kubectl end before they would need a collection, which takes up to a third of their processor time. */
const garbageCollection = { GOGC: 'off', GOMEMLIMIT: '512MiB' };

/** How to run test files. */
export interface RunOptions {
  /** Options for node. */
  flags: string[];
  env: NodeJS.ProcessEnv;
  /** Files at a time. */
  concurrency: number;
  output: TestOutput;
}

/** Runs each test file in its own process, with Node's test runner, and gives what they came to. */
export function runNodeTests(files: string[], { concurrency, ...options }: RunOptions): Promise<Tally> {
  return runNode([`--test-concurrency=${concurrency}`, ...longestFirst(files, root)], options);
}

/**
 * Runs a few test files in each process, so that what they import is loaded once: that is most of what a small file costs.
 * The files of a process run one after the other, so this is for tests that compute.
 */
export async function runSharedTests(files: string[], { concurrency, output, ...options }: RunOptions): Promise<Tally> {
  const slots = new Slots(concurrency);
  const shares = sharesOf(files);
  const runShare = async (share: string[]): Promise<Tally> => {
    // What is alone is seen while it runs.
    const own = shares.length === 1 ? output : new TestOutput({ isHeld: true });
    const tally = runNode(['--test-isolation=none', ...share], { ...options, output: own });
    return await tally
      .catch((error: Error) => tallyOfFailure(share.join(', '), error))
      .finally(() => own !== output && own.moveTo(output));
  };
  const tallies = shares.map((share) => slots.run(() => runShare(share)));
  return sumOfTallies(await Promise.all(tallies));
}

/** The runner is guarded: it ends with this process, and with it all test files that it runs. */
async function runNode(selection: string[], { flags, env, output }: Omit<RunOptions, 'concurrency'>): Promise<Tally> {
  const folder = await makeTemporaryFolder('test-run-');
  try {
    const file = path.join(folder.path, 'tally.json');
    const args = [
      ...['--import', slimImports],
      '--test',
      ...[`--test-reporter=${linesReporter}`, '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${tallyReporter}`, `--test-reporter-destination=${file}`],
      // It ends what hangs, also on a machine with much else to do.
      '--test-timeout=300000',
    ];
    // Each process compiles a hundred modules: two thirds of what a small test file costs.
    const compiled = { NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/compiled') };
    const environment = { ...process.env, ...compiled, ...garbageCollection, ...env };
    const options = { cwd: root, env: environment, output: output.isHeld ? 'pipe' : 'inherit' } as const;
    const runner = startGuarded(process.execPath, [...args, ...flags, ...selection], options);
    runner.child.ref();
    const { stdout, stderr } = runner.child;
    await Promise.all([stdout, stderr].map((stream) => stream && output.take(stream)));
    const { code, signal } = await runner.exited;
    const text = await readFile(file, 'utf8').catch(() => '');
    const end = signal ?? `status ${code}`;
    // A test that ends the process takes the reporter with it, whatever the status.
    if (text === '') throw new Error(`the test runner ended with ${end}, before its tests did`);
    const { passed, failed, skipped } = JSON.parse(text) as Tally;
    if (code !== 0 && failed.length === 0) throw new Error(`the test runner ended with ${end}`);
    return { passed, failed, skipped };
  } finally {
    await folder.remove();
  }
}
