import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { startProgram } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A controller whose API server is unavailable, which it does not need to start. */
async function start(t: TestContext, directory: string) {
  const kubeconfig = path.join(directory, 'kubeconfig');
  const server = `http://127.0.0.1:${await freePort()}`;
  await writeFile(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'none', cluster: { server } }],
      users: [{ name: 'nobody', user: {} }],
      contexts: [{ name: 'none', context: { cluster: 'none', user: 'nobody' } }],
      'current-context': 'none',
    }),
  );
  const program = startProgram(t, 'dist/controller.mjs', {
    env: {
      KUBECONFIG: kubeconfig,
      TMPDIR: path.join(directory, 'tmp'),
      MEMORY_PATH: path.join(directory, 'memory'),
      LEADER_ELECTION: 'false',
      WEBHOOK_PORT: '0',
      METRICS_PORT: '0',
      HEALTH_PORT: String(await freePort()),
    },
  });
  await program.waitForLog(/controller started/);
  return program;
}

test('a controller removes directories of a killed one, and none of a running one', async (t) => {
  const directory = await temporaryDirectory(t, 'left-');
  const tmp = path.join(directory, 'tmp');
  const memory = path.join(directory, 'memory');
  await mkdir(path.join(tmp, 'controller-999999-abcdef'), { recursive: true });
  await mkdir(path.join(memory, 'photos'), { recursive: true });
  const killed = await start(t, directory);
  await killed.kill();
  const left = await readdir(tmp);
  const leftKeys = await readdir(memory);
  assert.deepEqual([left.length, leftKeys.length], [2, 2], 'it was killed before it could remove anything');

  const first = await start(t, directory);
  const own = await readdir(tmp);
  assert.deepEqual(
    own.filter((name) => left.includes(name)),
    ['controller-999999-abcdef'],
  );
  assert.deepEqual(
    (await readdir(memory)).filter((name) => leftKeys.includes(name)),
    ['photos'],
  );
  const second = await start(t, directory);
  const both = await readdir(tmp);
  assert.deepEqual(
    own.filter((name) => !both.includes(name)),
    [],
  );
  await Promise.all([first.stop(), second.stop()]);
  assert.deepEqual(await readdir(tmp), ['controller-999999-abcdef']);
  assert.deepEqual(await readdir(memory), ['photos']);
});
