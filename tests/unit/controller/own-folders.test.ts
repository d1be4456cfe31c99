import assert from 'node:assert/strict';
import { mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
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

test('directories and files of others are kept, whatever their names are', async (t) => {
  const folder = await temporaryFolder(t, 'own-folders-');
  const at = (...names: string[]) => path.join(folder, ...names);
  const linked = makeFolder(folder, processes(7));
  const unmarked = makeFolder(folder, processes(7));
  // A link to a directory with a marker, and a directory whose marker is a link or is missing.
  await rename(linked, at('elsewhere'));
  await symlink(at('elsewhere'), linked);
  const [marker = ''] = await readdir(unmarked);
  await rm(path.join(unmarked, marker), { recursive: true });
  const other = makeFolder(folder, processes(7));
  await rm(path.join(other, marker), { recursive: true });
  await symlink(at('elsewhere', marker), path.join(other, marker));
  for (const name of ['controller-7-abcdef', 'stoker-operator-7-abcdef', 'stoker-operator-7', 'notes'])
    await mkdir(at(name));
  await writeFile(at('stoker-operator-7-fedcba'), 'a file');
  const before = (await readdir(folder, { recursive: true })).sort();
  removeLeft(folder, processes(1, 1));
  assert.deepEqual((await readdir(folder, { recursive: true })).sort(), before);
});
