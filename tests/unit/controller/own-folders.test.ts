import assert from 'node:assert/strict';
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { makeFolder, removeLeft } from '../../../controller/own-folders.ts';
import { makeTemporaryFolder } from '../../../scripts/testbed/temporary-folder.ts';

test('folders of processes that are gone are removed, and those of the id that the process itself has', async (t) => {
  const folder = await makeTemporaryFolder('own-folders-');
  t.after(() => folder.remove());
  const kept = ['controller-8-abcdef', 'controller-12345', 'controller-', 'other-7-abcdef', 'outside'];
  for (const name of [...kept, 'controller-7-abcdef/access-1', 'controller-1-abcdef'])
    await mkdir(path.join(folder.path, name), { recursive: true });
  await writeFile(path.join(folder.path, 'controller-7-abcdef/access-1/key'), 'secret');
  await writeFile(path.join(folder.path, 'outside/file'), 'of somebody else');
  await symlink(path.join(folder.path, 'outside'), path.join(folder.path, 'controller-7-link'));
  const processes = { own: 1, isRunning: (id: number) => id === 8 || id === 1 };

  removeLeft(folder.path, processes);
  assert.deepEqual((await readdir(folder.path)).sort(), kept.sort());
  assert.deepEqual(await readdir(path.join(folder.path, 'outside')), ['file']);
  assert.match(path.basename(makeFolder(folder.path, processes)), /^controller-1-.{6}$/);
});
