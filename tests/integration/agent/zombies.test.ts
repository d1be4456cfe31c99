import assert from 'node:assert/strict';
import path from 'node:path';
import { suite, test } from 'node:test';
import { readEntryPoint } from '../../../scripts/images/read-entry-point.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { startTcpServer } from '../../support/tcp-server.ts';

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

suite('in its own process namespace, as in a container,', { skip: await obstacle() }, () => {
  test('the first process of the image leaves no zombies of a killed git', async (t) => {
    // It takes connections, and never says a word.
    const url = `http://127.0.0.1:${await startTcpServer(t, () => {})}/x.git`;
    const entryPoint = await readEntryPoint('agent');
    const init = entryPoint.slice(0, entryPoint.indexOf('node'));
    const output = await runCommand('unshare', [...inNamespace, ...init, process.execPath, script, url]);
    assert.equal(output, '0 zombies of 4 fetches\n');
  });
});
