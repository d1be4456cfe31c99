import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const main = path.join(import.meta.dirname, '../../../../scripts/demo/main.ts');

for (const [args, status, words] of [
  [['--bogus'], 2, /Unknown option '--bogus'[\s\S]*usage: npm run demo/],
  [['--context', ''], 1, /--context is empty: name a context of your kubeconfig, or leave it out/],
] as const) {
  test(`the demo ends with words at ${args.join(' ')}`, () => {
    const ended = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8' });
    assert.equal(ended.status, status);
    assert.match(ended.stderr, words);
  });
}
