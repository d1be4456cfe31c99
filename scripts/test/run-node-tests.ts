import { readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { startGuarded } from '../testbed/guarded-process.ts';
import { makeTemporaryFolder } from '../testbed/temporary-folder.ts';
import type { Tally } from './tally.ts';

const root = path.join(import.meta.dirname, '../..');
const reporter = path.join(import.meta.dirname, 'tally-reporter.ts');

/**
 * Runs test files with Node's test runner, its output on ours, and gives what they came to. The runner is guarded: it
 * ends with this process, and with it all test files that it runs.
 */
export async function runNodeTests(files: string[], flags: string[], env: NodeJS.ProcessEnv): Promise<Tally> {
  const folder = await makeTemporaryFolder('test-run-');
  try {
    const file = path.join(folder.path, 'tally.json');
    const args = [
      '--test',
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...[`--test-reporter=${reporter}`, `--test-reporter-destination=${file}`],
      // Many tests wait more than they compute.
      `--test-concurrency=${Math.max(2, availableParallelism())}`,
      '--test-timeout=120000',
    ];
    const options = { cwd: root, env: { ...process.env, ...env }, output: 'inherit' } as const;
    const runner = startGuarded(process.execPath, [...args, ...flags, ...files], options);
    runner.child.ref();
    const { code, signal } = await runner.exited;
    const tally = JSON.parse((await readFile(file, 'utf8').catch(() => '')) || '{}') as Partial<Tally>;
    const { passed = 0, failed = [], skipped = [] } = tally;
    if (code !== 0 && failed.length === 0) throw new Error(`the test runner ended with ${signal ?? `status ${code}`}`);
    return { passed, failed, skipped };
  } finally {
    await folder.remove();
  }
}
