import { appendFileSync, readFileSync } from 'node:fs';
import { after } from 'node:test';
import { useOf } from './tally.ts';

// Loaded by each process that runs tests.

/** Time for a test file to end after its tests (ms); generous because the machine may be busy. */
const END_MS = 30_000;

// Not in the runner of other processes.
if (process.env.NODE_TEST_CONTEXT || process.execArgv.includes('--test-isolation=none')) {
  after(() => {
    const timer = setTimeout(() => {
      const open = process.getActiveResourcesInfo().join(', ');
      console.error(`still running ${END_MS / 1000} s after the last test, with open resources: ${open}`);
      process.exit(1);
    }, END_MS);
    timer.unref();
  });
  const file = process.env.TEST_USAGE;
  const readStat = () => (process.platform === 'linux' ? readFileSync('/proc/self/stat', 'utf8') : '');
  if (file) process.on('exit', () => appendFileSync(file, `${JSON.stringify(useOf(process.argv, readStat()))}\n`));
}
