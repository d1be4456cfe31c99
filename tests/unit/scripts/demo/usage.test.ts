import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const main = path.join(import.meta.dirname, '../../../../scripts/demo/main.ts');

test('the demo prints its usage and exits with status 2 if an option is unknown', () => {
  const { status, stderr } = spawnSync(process.execPath, [main, '--bogus'], { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /Unknown option '--bogus'[\s\S]*usage: npm run demo/);
});
