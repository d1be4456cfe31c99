import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '../../..');

interface LockedPackage {
  integrity?: string;
  /** Shipped in the tarball of the package that depends on it, whose hash covers it. */
  inBundle?: true;
}

for (const file of ['package-lock.json', 'site/package-lock.json'])
  test(`npm verifies each package against a hash in ${file}, on every platform`, async () => {
    const lock = JSON.parse(await readFile(path.join(root, file), 'utf8')) as {
      packages: Record<string, LockedPackage>;
    };
    const { '': project, ...packages } = lock.packages;
    const unverified = Object.entries(packages).filter(
      ([, { integrity, inBundle }]) => !inBundle && !/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? ''),
    );

    assert.ok(project && Object.keys(packages).length > 0, 'the lock file lists no package');
    assert.deepEqual(
      unverified.map(([name]) => name),
      [],
      'remove these entries and run npm install --package-lock-only',
    );
  });
