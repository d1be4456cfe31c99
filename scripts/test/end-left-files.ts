import { after } from 'node:test';

/** Time for a test file to end after its tests (ms); generous because the machine may be busy. */
const END_MS = Number(process.env.TEST_END_MS ?? 30_000);

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
}
