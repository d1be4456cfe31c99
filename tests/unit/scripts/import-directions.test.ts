import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { slow } from '../../support/depth.ts';

const checkout = path.join(import.meta.dirname, '../../..');

test('the check of imports resolves libraries, because rules on unresolved ones never fail', slow, () => {
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

test('the check of imports and the linter agree on pure modules', async () => {
  const { forbidden } = createRequire(import.meta.url)('../../../.dependency-cruiser.cjs');
  const rule = forbidden.find(({ name }: { name: string }) => name === 'pure-modules-are-pure');
  const { overrides } = JSON.parse(await readFile(path.join(checkout, 'biome.json'), 'utf8'));
  const { includes } = overrides.find(({ plugins = [] }: { plugins?: string[] }) =>
    plugins.includes('./pure-modules.grit'),
  );
  const imports = new RegExp(rule.from.path);
  const differing: string[] = [];
  for await (const file of glob('{agent,cli,controller,receiver,shared}/**/*.ts', { cwd: checkout })) {
    const isLinted = includes.some((pattern: string) => path.matchesGlob(file, pattern));
    if (isLinted !== imports.test(file)) differing.push(file);
  }
  assert.deepEqual(differing, []);
});
