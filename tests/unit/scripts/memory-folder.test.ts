import assert from 'node:assert/strict';
import { readdirSync, statfsSync } from 'node:fs';
import { test } from 'node:test';
import { TMPFS_MAGIC, useMemoryFolder } from '../../../scripts/test/memory-folder.ts';

const isTmpfs = (folder: string) => statfsSync(folder).type === TMPFS_MAGIC;

test('a configured directory for temporary files is used', () => {
  const environment = { TMPDIR: '/var/tmp' };
  assert.equal(useMemoryFolder(environment), undefined);
  assert.deepEqual(environment, { TMPDIR: '/var/tmp' });
});

test("temporary files don't move to a directory that isn't in memory", () => {
  for (const folder of [import.meta.dirname, '/proc', '/there/is/none']) {
    const environment = {};
    if (folder === import.meta.dirname && isTmpfs(folder)) continue;
    assert.equal(useMemoryFolder(environment, folder), undefined, folder);
    assert.deepEqual(environment, {});
  }
  assert.equal(readdirSync(import.meta.dirname).filter((name) => name.startsWith('stoker-')).length, 0);
});

test('a test can still use the disk if temporary files are in memory', () => {
  const environment: NodeJS.ProcessEnv = {};
  const folder = useMemoryFolder(environment);
  // A machine without so much memory has them on the disk.
  const expected = folder ? { DISK_TMPDIR: '/tmp', TMPDIR: '/dev/shm' } : {};
  assert.deepEqual(environment, expected);
});
