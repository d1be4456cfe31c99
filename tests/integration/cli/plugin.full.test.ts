import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmod, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { untilPermitted } from '../../support/until-permitted.ts';

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
    assert.equal(wrong.stderr, 'error: unknown option --nonsense: see kubectl stoker status --help\n');
    assert.match((await stoker('--help')).stdout, /kubectl stoker COMMAND/);
  });

  test('authenticates with a credential plugin of the kubeconfig', async (t) => {
    const [cluster, directory, namespace] = await Promise.all([connectCluster(), installPlugin(t), createNamespace(t)]);
    const config = JSON.parse(await readFile(await adminConfig(cluster), 'utf8'));
    const token = config.users[0].user.token as string;
    const helper = path.join(directory, 'login');
    const answer = { apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status: { token } };
    await writeFile(
      helper,
      `#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *client.authentication.k8s.io/v1*) echo '${JSON.stringify(answer)}';; *) exit 1;; esac\n`,
      { mode: 0o700 },
    );
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: helper, interactiveMode: 'Never' };
    const kubeconfig = path.join(directory, 'kubeconfig');
    await writeFile(kubeconfig, JSON.stringify({ ...config, users: [{ name: 'testbed', user: { exec } }] }));
    const env = { PATH: `${directory}:${process.env.PATH}`, HOME: directory };
    const plugin = path.join(directory, 'kubectl-stoker');
    const line = ['status', '-n', namespace, '--kubeconfig', kubeconfig];
    const empty = await run(plugin, line, { env }).catch((error: Ended) => error);
    assert.equal((empty as Ended).code, 1);
    assert.match(empty.stderr, /no GatewaySync found in the namespace test-/);
    await writeFile(helper, '#!/bin/sh\necho "please log in" >&2; exit 1\n', { mode: 0o700 });
    const refused = await run(plugin, ['status', '--kubeconfig', kubeconfig], { env }).catch((error: Ended) => error);
    assert.deepEqual([(refused as Ended).code, refused.stdout], [3, '']);
    assert.match(refused.stderr, /^error: cannot list GatewaySyncs .*: please log in$/m);
  });
});

/** A kubeconfig with the token of an administrator; waits until the API server has noticed the permissions. */
async function adminConfig(cluster: Awaited<ReturnType<typeof connectCluster>>): Promise<string> {
  const { kubectl } = cluster;
  await kubectl(
    ...['create', 'clusterrolebinding', `cli-${process.pid}`, '--clusterrole=cluster-admin'],
    '--serviceaccount=default:default',
  );
  const kubeconfig = await cluster.kubeconfigFor({ namespace: 'default', serviceAccount: 'default' });
  return await untilPermitted(kubeconfig, gatewaySyncPath());
}
