import assert from 'node:assert/strict';
import { readdirSync, statfsSync } from 'node:fs';
import { test } from 'node:test';
import { TMPFS_MAGIC, useMemoryDirectory } from '../../../scripts/test/memory-directory.ts';

const isTmpfs = (directory: string) => statfsSync(directory).type === TMPFS_MAGIC;

test('a configured directory for temporary files is used', () => {
  const environment = { TMPDIR: '/var/tmp' };
  assert.equal(useMemoryDirectory(environment), undefined);
  assert.deepEqual(environment, { TMPDIR: '/var/tmp' });
});

test("temporary files don't move to a directory that isn't in memory", () => {
  for (const directory of [import.meta.dirname, '/proc', '/there/is/none']) {
    const environment = {};
    if (directory === import.meta.dirname && isTmpfs(directory)) continue;
    assert.equal(useMemoryDirectory(environment, directory), undefined, directory);
    assert.deepEqual(environment, {});
  }
  assert.equal(readdirSync(import.meta.dirname).filter((name) => name.startsWith('stoker-')).length, 0);
});

test('a test can still use the disk if temporary files are in memory', () => {
  const environment: NodeJS.ProcessEnv = {};
  const directory = useMemoryDirectory(environment);
  // A machine without so much memory has them on the disk.
  const expected = directory ? { DISK_TMPDIR: '/tmp', TMPDIR: '/dev/shm' } : {};
  assert.deepEqual(environment, expected);
});
