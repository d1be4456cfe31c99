import assert from 'node:assert/strict';
import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { freshDirectory } from '../../../controller/own-directories.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a directory of a killed process is emptied, and others are kept', async (t) => {
  const parent = await temporaryDirectory(t, 'own-directories-');
  const killed = freshDirectory(parent, 'controller-0');
  const other = freshDirectory(parent, 'controller-1');
  for (const made of [killed, other]) await writeFile(path.join(made, 'key'), 'secret');
  assert.equal(freshDirectory(parent, 'controller-0'), killed);
  assert.deepEqual(await readdir(killed), []);
  assert.equal((await stat(killed)).mode & 0o777, 0o700);
  assert.deepEqual(await readdir(other), ['key']);
});

test('a link with the name of the directory is replaced, and the directory behind it is kept', async (t) => {
  const parent = await temporaryDirectory(t, 'own-directories-');
  const elsewhere = path.join(parent, 'elsewhere');
  await mkdir(elsewhere);
  await writeFile(path.join(elsewhere, 'file'), 'kept');
  await symlink(elsewhere, path.join(parent, 'stoker-operator-controller-0'));
  assert.deepEqual(await readdir(freshDirectory(parent, 'controller-0')), []);
  assert.deepEqual(await readdir(elsewhere), ['file']);
});
