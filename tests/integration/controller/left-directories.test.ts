import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createNamespace } from '../../support/cluster.ts';
import { startControllerProcess } from '../../support/start-controller.ts';
import { startTcpServer } from '../../support/tcp-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

test('a controller removes directories of a killed one, and none of a running one', async (t) => {
  const directory = await temporaryDirectory(t, 'left-');
  const tmp = path.join(directory, 'tmp');
  const memory = path.join(directory, 'memory');
  await mkdir(path.join(tmp, 'controller-999999-abcdef'), { recursive: true });
  await mkdir(path.join(memory, 'photos'), { recursive: true });
  const namespace = await createNamespace(t);
  const start = () => startControllerProcess(t, namespace, { TMPDIR: tmp, MEMORY_PATH: memory });
  const killed = await start();
  await killed.kill();
  const left = await readdir(tmp);
  const leftKeys = await readdir(memory);
  assert.deepEqual([left.length, leftKeys.length], [2, 2], 'it was killed before it could remove anything');

  const first = await start();
  const own = await readdir(tmp);
  assert.deepEqual(
    own.filter((name) => left.includes(name)),
    ['controller-999999-abcdef'],
  );
  assert.deepEqual(
    (await readdir(memory)).filter((name) => leftKeys.includes(name)),
    ['photos'],
  );
  const second = await start();
  const both = await readdir(tmp);
  assert.deepEqual(
    own.filter((name) => !both.includes(name)),
    [],
  );
  await Promise.all([first.stop(), second.stop()]);
  assert.deepEqual(await readdir(tmp), ['controller-999999-abcdef']);
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
