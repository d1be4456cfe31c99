import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync } from '../../support/gateway-syncs.ts';
import { kubeconfigWith } from '../../support/kubeconfig-with.ts';
import { rolloutStatusOf } from '../../support/objects.ts';
import { writeReleases } from '../../support/sync-releases.ts';
import { startTcpServer } from '../../support/tcp-server.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

const root = path.join(import.meta.dirname, '../../..');

/** Returns the reason to skip a test if this machine doesn't have a shell. */
const skipWithoutShell = (shell: string): string | false =>
  spawnSync(shell, ['--version']).status !== 0 && `${shell} is not installed`;

/** Installs the plugin as Krew does: the directory on the PATH contains only a link to the program. */
async function installPlugin(t: TestContext) {
  const directory = await temporaryDirectory(t, 'completion-');
  const store = path.join(directory, "Krew's store");
  const bin = path.join(directory, 'bin');
  await Promise.all([mkdir(store), mkdir(bin)]);
  await cp(path.join(root, 'cli/completion'), path.join(store, 'completion'), { recursive: true });
  await cp(path.join(root, 'dist/kubectl-stoker.mjs'), path.join(store, 'kubectl-stoker.mjs'));
  await chmod(path.join(store, 'kubectl-stoker.mjs'), 0o755);
  await symlink(path.join(store, 'kubectl-stoker.mjs'), path.join(bin, 'kubectl-stoker'));
  await symlink(process.execPath, path.join(bin, 'node'));
  const { binaries, kubeconfig } = await connectCluster();
  await symlink(binaries.kubectl, path.join(bin, 'kubectl'));
  const env = { PATH: `${bin}:${process.env.PATH}`, HOME: directory, KUBECONFIG: kubeconfig };
  return { directory, store, env };
}

/** Runs the completion of kubectl for a command line, as the scripts of all shells do. */
async function askKubectl(env: Record<string, string>, ...words: string[]): Promise<string[]> {
  const output = await runCommand('kubectl', ['__complete', 'stoker', ...words], { env });
  return output.trimEnd().replaceAll(/\t.*/g, '').split('\n');
}

/** Does the same until there are candidates, because a completion gives up after two seconds. */
const untilCompleted = (env: Record<string, string>, ...words: string[]): Promise<string[]> =>
  until(() => askKubectl(env, ...words), { describe: 'candidates', accept: (lines) => lines.length > 1 });

suite('kubectl completes', { concurrency: 3 }, () => {
  test('names of GatewaySyncs, namespaces, gateways, and releases in the cluster', slow, async (t) => {
    const [{ env, store }, namespace] = await Promise.all([installPlugin(t), createNamespace(t)]);
    const { kubectl } = await connectCluster();
    for (const name of ['plant-a', 'plant-b', 'shop'])
      await applyGatewaySync({ namespace, name }, { repo: 'https://git.example/x' });
    const gateway = { name: 'till-1', namespace, podName: 'till-1', syncStatus: 'Synced' };
    const rollout = rolloutStatusOf({ release: 'shop-3', stableRelease: 'shop-3' });
    const result = 'Complete';
    await writeReleases({ namespace, name: 'shop' }, [
      { number: 1, commit: 'a'.repeat(40), ref: 'v1', result },
      { number: 2, commit: 'b'.repeat(40), ref: '$(reboot)', result },
      { number: 3, commit: rollout.commit, result },
      { number: 4, commit: 'd'.repeat(40) },
    ]);
    const patch = JSON.stringify({ status: { discoveredGateways: [gateway], rollout } });
    await kubectl('patch', 'gsync', 'shop', '-n', namespace, '--subresource=status', '--type=merge', '-p', patch);
    const complete = { ...env, PATH: `${env.PATH}:${store}/completion` };
    const names = await untilCompleted(complete, 'status', '-n', namespace, 'plant-');
    assert.deepEqual(names, ['plant-a', 'plant-b', ':4']);
    const namespaces = await untilCompleted(complete, 'status', `--namespace=${namespace.slice(0, -1)}`);
    assert.deepEqual(namespaces, [namespace, ':4']);
    const gateways = await untilCompleted(complete, '-n', namespace, 'diff', 'shop', '--gateway', '');
    assert.deepEqual(gateways, ['till-1', ':4']);
    assert.deepEqual(await askKubectl(complete, 'status', '-n', namespace, '-o', 'y'), ['yaml', ':4']);
    const line = ['__complete', 'stoker', 'rollback', 'shop', '-n', namespace, '--to', ''];
    const candidates = await until(() => runCommand('kubectl', line, { env: complete }), {
      describe: 'releases',
      accept: (output) => output !== ':4\n',
    });
    assert.equal(candidates, '2\n1\tv1 aaaaaaaa\n:4\n');
  });

  test('nothing, and soon, if the cluster or the credential plugin does not answer', slow, async (t) => {
    const { env, directory, store } = await installPlugin(t);
    const port = await startTcpServer(t, () => {});
    const helper = path.join(directory, 'login');
    await writeFile(helper, '#!/bin/sh\nexec sleep 60\n', { mode: 0o700 });
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: helper, interactiveMode: 'Never' };
    for (const user of [{ token: 'x' }, { exec }]) {
      const kubeconfig = await kubeconfigWith(t, { server: `http://127.0.0.1:${port}` }, user);
      const own = { ...env, PATH: `${env.PATH}:${store}/completion`, KUBECONFIG: kubeconfig };
      const asked = askKubectl(own, 'status', '');
      const late = new Promise<string[]>((resolve) => setTimeout(resolve, 30_000, ['late']).unref());
      assert.deepEqual(await Promise.race([asked, late]), [':4']);
    }
  });
});

suite('the script of kubectl stoker completion', { concurrency: 3 }, () => {
  test('completes in bash', async (t) => {
    const { env, directory } = await installPlugin(t);
    // bash-completion has this function, and kubectl's script calls it.
    const script = `
      _init_completion() { cur=\${COMP_WORDS[COMP_CWORD]}; words=("\${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
      source <(kubectl stoker completion bash)
      COMP_WORDS=(kubectl stoker ro); COMP_CWORD=2; COMP_TYPE=9
      __start_kubectl
      echo "\${COMPREPLY[*]}"`;
    assert.equal(await runCommand('bash', ['--norc', '-c', script], { env, cwd: directory }), 'rollback\n');
  });

  test('completes in fish', { skip: skipWithoutShell('fish') }, async (t) => {
    const { env } = await installPlugin(t);
    const script = 'kubectl stoker completion fish | source; complete --do-complete "kubectl stoker ro"';
    assert.match(await runCommand('fish', ['--no-config', '-c', script], { env }), /^rollback\t/);
  });

  test('loads in zsh', { skip: skipWithoutShell('zsh') }, async (t) => {
    const { env } = await installPlugin(t);
    const script = `
      autoload -Uz compinit; compinit -u
      source <(kubectl stoker completion zsh)
      whence kubectl_complete-stoker && echo $_comps[kubectl]`;
    const output = await runCommand('zsh', ['-f', '-c', script], { env });
    assert.match(output, /\/completion\/kubectl_complete-stoker\n_kubectl\n$/);
  });
});
