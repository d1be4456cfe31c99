import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { makeDirectory, removeLeft } from '../../../controller/own-directories.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const processes = (own: number, ...running: number[]) => ({ own, isRunning: (id: number) => running.includes(id) });

test('directories of killed processes are removed, even those with the ID of the running process', async (t) => {
  const directory = await temporaryDirectory(t, 'own-directories-');
  const [killed, earlier, running] = [7, 1, 8].map((id) => makeDirectory(directory, processes(id)));
  for (const made of [killed, earlier, running]) await writeFile(path.join(made ?? '', 'key'), 'secret');
  removeLeft(directory, processes(1, 1, 8));
  assert.deepEqual(await readdir(directory), [path.basename(running ?? '')]);
});

test('other directories are kept, even if a link to one has the name of a directory of a killed process', async (t) => {
  const directory = await temporaryDirectory(t, 'own-directories-');
  const at = (...names: string[]) => path.join(directory, ...names);
  const others = ['controller-7-abcdef', 'elsewhere', 'notes', 'stoker-operator-7', 'stoker-operator-x-abcdef'];
  for (const name of others) await mkdir(at(name));
  await writeFile(at('elsewhere', 'file'), 'kept');
  await symlink(at('elsewhere'), at('stoker-operator-7-abcdef'));
  removeLeft(directory, processes(1, 1));
  assert.deepEqual((await readdir(directory)).sort(), others);
  assert.deepEqual(await readdir(at('elsewhere')), ['file']);
});
