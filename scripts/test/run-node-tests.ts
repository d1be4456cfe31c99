import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { startGuarded } from '../testbed/guarded-process.ts';
import { makeTemporaryFolder } from '../testbed/temporary-folder.ts';
import { longestFirst } from './longest-first.ts';
import type { Tally } from './tally.ts';
import type { TestOutput } from './test-output.ts';

const root = path.join(import.meta.dirname, '../..');
const reporter = path.join(import.meta.dirname, 'tally-reporter.ts');
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

/**
 * Runs test files with Node's test runner and gives what they came to. The runner is guarded: it ends with this process,
 * and with it all test files that it runs.
 */
export async function runNodeTests(files: string[], { flags, env, concurrency, output }: RunOptions): Promise<Tally> {
  const folder = await makeTemporaryFolder('test-run-');
  try {
    const file = path.join(folder.path, 'tally.json');
    const args = [
      ...['--import', slimImports],
      '--test',
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${reporter}`, `--test-reporter-destination=${file}`],
      `--test-concurrency=${concurrency}`,
      // It ends what hangs, also on a machine with much else to do.
      '--test-timeout=300000',
    ];
    // Each test file is a process, which compiles a hundred modules: two thirds of what a small one costs.
    const compiled = { NODE_COMPILE_CACHE: path.join(root, 'node_modules/.cache/compiled') };
    const environment = { ...process.env, ...compiled, ...garbageCollection, ...env };
    const options = { cwd: root, env: environment, output: output.isHeld ? 'pipe' : 'inherit' } as const;
    const runner = startGuarded(process.execPath, [...args, ...flags, ...longestFirst(files, root)], options);
    runner.child.ref();
    const { stdout, stderr } = runner.child;
    await Promise.all([stdout, stderr].map((stream) => stream && output.take(stream)));
    const { code, signal } = await runner.exited;
    const tally = JSON.parse((await readFile(file, 'utf8').catch(() => '')) || '{}') as Partial<Tally>;
    const { passed = 0, failed = [], skipped = [] } = tally;
    if (code !== 0 && failed.length === 0) throw new Error(`the test runner ended with ${signal ?? `status ${code}`}`);
    return { passed, failed, skipped };
  } finally {
    await folder.remove();
  }
}
