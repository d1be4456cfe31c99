import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { readEntryPoint } from '../../../scripts/images/read-entry-point.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';

const script = path.join(import.meta.dirname, 'support/interrupted-fetches.ts');
const inNamespace = ['--pid', '--fork', '--mount-proc', '--kill-child'];

async function obstacle(): Promise<string | undefined> {
  for (const [command, args, message] of [
    ['unshare', [...inNamespace, 'true'], 'this machine does not allow new namespaces'],
    ['tini', ['--version'], 'it needs tini, as the image of the agent does'],
  ] as const) {
    const isThere = await runCommand(command, [...args]).then(
      () => true,
      () => false,
    );
    if (!isThere) return message;
  }
  return undefined;
}

/** A host that takes connections and never says a word. */
async function startSilentHost(t: TestContext): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x.git`;
}

suite('in its own process namespace, as in a container,', { skip: await obstacle() }, () => {
  test('the first process of the image leaves no zombies of a killed git', async (t) => {
    const url = await startSilentHost(t);
    const entryPoint = await readEntryPoint('agent');
    const init = entryPoint.slice(0, entryPoint.indexOf('node'));
    const output = await runCommand('unshare', [...inNamespace, ...init, process.execPath, script, url]);
    assert.equal(output, '0 zombies of 4 fetches\n');
  });
});
