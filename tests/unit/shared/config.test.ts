import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '../../..');

for (const program of ['agent', 'controller', 'receiver']) {
  test(`an invalid configuration ends the ${program} with every problem on stderr`, async () => {
    const env = { PATH: process.env.PATH, HEALTH_PORT: 'x', METRICS_PORT: 'y' };
    const ended = await new Promise((resolve) => {
      execFile(process.execPath, [path.join(root, `dist/${program}.mjs`)], { env }, (error, stdout, stderr) => {
        const problems = ['HEALTH_PORT', 'METRICS_PORT'].filter((name) => stderr.includes(`  ${name}: must be a port`));
        resolve({ status: error?.code, stdout, begins: stderr.split('\n')[0], problems });
      });
    });
    const begins = 'invalid configuration:';
    assert.deepEqual(ended, { status: 1, stdout: '', begins, problems: ['HEALTH_PORT', 'METRICS_PORT'] });
  });
}
