import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';

const checkout = path.join(import.meta.dirname, '../../..');

test('the check of imports sees libraries: rules about those that it does not see never fail', () => {
  const cruise = ['receiver/app.ts', 'controller/rollout', '--config', '.dependency-cruiser.cjs', '--max-depth', '1'];
  const seen = execFileSync(
    process.execPath,
    [
      path.join(checkout, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs'),
      ...cruise,
      '--output-type',
      'text',
    ],
    { cwd: checkout, encoding: 'utf8' },
  );
  for (const library of [
    'receiver/app.ts → node_modules/h3/',
    'controller/rollout/schedule.ts → node_modules/croner/',
  ]) {
    assert.ok(seen.includes(library), `${library}… is not in\n${seen}`);
  }
});
