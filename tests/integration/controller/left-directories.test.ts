import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createNamespace } from '../../support/cluster.ts';
import { startControllerProcess } from '../../support/start-controller.ts';
import { startTcpServer } from '../../support/tcp-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a controller replaces the directories of a killed one with its name, and no others', async (t) => {
  const directory = await temporaryDirectory(t, 'left-');
  const tmp = path.join(directory, 'tmp');
  const memory = path.join(directory, 'memory');
  await mkdir(path.join(tmp, 'stoker-operator-x'), { recursive: true });
  await mkdir(path.join(memory, 'photos'), { recursive: true });
  const namespace = await createNamespace(t);
  const start = (POD_NAME: string) =>
    startControllerProcess(t, namespace, { TMPDIR: tmp, MEMORY_PATH: memory, POD_NAME });
  const killed = await start('one');
  await killed.kill();
  const left = path.join(memory, 'stoker-operator-one-keys', 'key');
  await writeFile(left, 'secret');

  const first = await start('one');
  await assert.rejects(readFile(left), { code: 'ENOENT' });
  const second = await start('two');
  const names = ['stoker-operator-one', 'stoker-operator-two', 'stoker-operator-x'];
  assert.deepEqual((await readdir(tmp)).sort(), names);
  await Promise.all([first.stop(), second.stop()]);
  assert.deepEqual(await readdir(tmp), ['stoker-operator-x']);
  assert.deepEqual(await readdir(memory), ['photos']);
});

test('a controller that cannot start says so, and leaves nothing', async (t) => {
  const directory = await temporaryDirectory(t, 'left-');
  const namespace = await createNamespace(t);
  const METRICS_PORT = `${await startTcpServer(t, () => {})}`;
  const starting = startControllerProcess(t, namespace, { METRICS_PORT, METRICS_SECURE: 'false', TMPDIR: directory });
  await assert.rejects(starting, /"code":"EADDRINUSE".*controller not started/);
  assert.deepEqual(await readdir(directory), []);
});
