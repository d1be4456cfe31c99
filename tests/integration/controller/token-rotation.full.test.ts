import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { apply, connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
import { applyGatewaySync, untilCommit } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { startController } from '../../support/start-controller.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';

/** A service account with the permissions of the controller, whose tokens each expire with a Secret. */
async function createAccount(t: TestContext, namespace: string) {
  await kubectl('create', 'serviceaccount', 'controller', '--namespace', namespace);
  const binding = ['--clusterrole=cluster-admin', `--serviceaccount=${namespace}:controller`];
  await kubectl('create', 'clusterrolebinding', namespace, ...binding);
  t.after(() => kubectl('delete', 'clusterrolebinding', namespace));
  return {
    issue: async (name: string) => {
      await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace } });
      const bound = ['--bound-object-kind', 'Secret', '--bound-object-name', name];
      return (await kubectl('create', 'token', 'controller', '--namespace', namespace, ...bound)).trim();
    },
    end: (name: string) => kubectl('delete', 'secret', name, '--namespace', namespace),
  };
}

test('a controller continues to watch and write when its token is replaced and the old one expires', async (t) => {
  const { repository, commit } = await serveRepository(t);
  const namespace = await createNamespace(t);
  const account = await createAccount(t, namespace);
  const { url, caFile } = await connectCluster();
  const link = await startSlowLink(t, url);
  const directory = await temporaryDirectory(t, 'token-');
  const tokenFile = path.join(directory, 'token');
  const kubeconfig = path.join(directory, 'kubeconfig');
  const replaceToken = async (token: string) => {
    await writeFile(`${tokenFile}.new`, token, { mode: 0o600 });
    await rename(`${tokenFile}.new`, tokenFile);
  };
  const first = await account.issue('first');
  await replaceToken(first);
  // The library's user for the files in a pod.
  const user = { 'auth-provider': { name: 'tokenFile', config: { tokenFile } } };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'pod',
    clusters: [{ name: 'pod', cluster: { server: link.url, 'certificate-authority': caFile } }],
    users: [{ name: 'pod', user }],
    contexts: [{ name: 'pod', context: { cluster: 'pod', user: 'pod' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  const controller = await startController(t, namespace, { KUBECONFIG: kubeconfig });
  await applyGatewaySync({ namespace, name: 'before' }, { repo: repository.url });
  await untilCommit({ namespace, name: 'before' }, commit);

  await replaceToken(await account.issue('second'));
  await account.end('first');
  const readVersion = () => kubectl('get', '--raw', '/version', '--token', first).catch(String);
  const accept = (answer: string) => answer.includes('Unauthorized');
  await until(readVersion, { describe: 'the old token expires', accept, timeout: 60_000 });
  link.cut();
  await applyGatewaySync({ namespace, name: 'after' }, { repo: repository.url });
  await untilCommit({ namespace, name: 'after' }, commit);
  assert.equal(await controller.stop(), 'signal');
});
