import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, symlink } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

const root = path.join(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** A directory with the plugin as kubectl finds it: an executable file with this name on the PATH. */
async function installPlugin(t: TestContext): Promise<string> {
  const directory = await temporaryDirectory(t, 'plugin-');
  await chmod(path.join(root, 'dist/kubectl-stoker.mjs'), 0o755);
  await symlink(path.join(root, 'dist/kubectl-stoker.mjs'), path.join(directory, 'kubectl-stoker'));
  await symlink(process.execPath, path.join(directory, 'node'));
  return directory;
}

interface Ended {
  code?: number;
  stdout: string;
  stderr: string;
}

suite('the plugin, run by kubectl,', () => {
  test('uses KUBECONFIG, and returns its exit status', async (t) => {
    const [cluster, directory, namespace] = await Promise.all([connectCluster(), installPlugin(t), createNamespace(t)]);
    await applyGatewaySync({ namespace, name: 'plant' }, { repo: 'https://git.example/x' });
    const env = { PATH: `${directory}:${process.env.PATH}`, HOME: directory, KUBECONFIG: cluster.kubeconfig };
    const stoker = (...line: string[]): Promise<Ended> =>
      run(cluster.binaries.kubectl, ['stoker', ...line], { env }).catch((error: Ended) => error);
    const { code, stdout } = await stoker('status', '-n', namespace);
    assert.match(stdout, /… +plant +main +0\/0 +not reconciled yet/);
    assert.equal(code, 1);
    const wrong = await stoker('status', '--nonsense');
    assert.deepEqual([wrong.code, wrong.stdout], [64, '']);
    assert.match(wrong.stderr, /^error: .* --nonsense: .* kubectl stoker status --help\n$/);
    assert.match((await stoker('--help')).stdout, /kubectl stoker COMMAND/);
  });
});
