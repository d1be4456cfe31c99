import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { makeFolder, removeLeft } from '../../../controller/own-folders.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const processes = (own: number, ...running: number[]) => ({ own, isRunning: (id: number) => running.includes(id) });

test('directories of killed processes are removed, even those with the ID of the running process', async (t) => {
  const folder = await temporaryFolder(t, 'own-folders-');
  const [killed, earlier, running] = [7, 1, 8].map((id) => makeFolder(folder, processes(id)));
  for (const made of [killed, earlier, running]) await writeFile(path.join(made ?? '', 'key'), 'secret');
  removeLeft(folder, processes(1, 1, 8));
  assert.deepEqual(await readdir(folder), [path.basename(running ?? '')]);
});

test('other directories are kept, even if a link to one has the name of a directory of a killed process', async (t) => {
  const folder = await temporaryFolder(t, 'own-folders-');
  const at = (...names: string[]) => path.join(folder, ...names);
  const others = ['controller-7-abcdef', 'elsewhere', 'notes', 'stoker-operator-7', 'stoker-operator-x-abcdef'];
  for (const name of others) await mkdir(at(name));
  await writeFile(at('elsewhere', 'file'), 'kept');
  await symlink(at('elsewhere'), at('stoker-operator-7-abcdef'));
  removeLeft(folder, processes(1, 1));
  assert.deepEqual((await readdir(folder)).sort(), others);
  assert.deepEqual(await readdir(at('elsewhere')), ['file']);
});
