import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LONGEST } from '../../../scripts/test/longest-first.ts';
import { sharesOf } from '../../../scripts/test/shares-of.ts';

const filesIn = (directory: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${directory}/${index}.test.ts`);

test('each test file runs once, in a process with others from its directory', () => {
  const files = [...filesIn('tests/unit/shared', 21), ...filesIn('tests/unit/receiver', 3)];
  const shares = sharesOf(files);
  assert.deepEqual(shares.flat().sort(), files.sort());
  assert.deepEqual(shares.map((share) => share.length).sort(), [3, 7, 7, 7]);
  for (const share of shares) assert.equal(new Set(share.map((file) => file.replace(/\/\d+\..*/, ''))).size, 1);
});

test('test files that start many programs each get their own process', () => {
  assert.deepEqual(
    sharesOf(filesIn('tests/unit/agent/git', 3)),
    filesIn('tests/unit/agent/git', 3).map((file) => [file]),
  );
  assert.deepEqual(sharesOf(filesIn('tests/unit/agent/plan', 3)), [filesIn('tests/unit/agent/plan', 3)]);
});

test('the slowest test files start first, in separate processes', () => {
  const longest = LONGEST.filter((file) => file.startsWith('tests/unit/controller/polling/'));
  assert.ok(longest.length > 1);
  const shares = sharesOf([
    ...filesIn('tests/unit/api', 3),
    ...filesIn('tests/unit/controller/polling', 10),
    ...longest,
  ]);
  assert.deepEqual(
    shares.slice(0, longest.length).map(([first]) => first),
    longest,
  );
});
