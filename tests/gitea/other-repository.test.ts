import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installReceiverRights } from '../chart/support/install-receiver-rights.ts';
import { annotationsOf, startReceiver } from '../integration/receiver/start-receiver.ts';
import { apply, connectCluster } from '../support/cluster.ts';
import { applyGatewaySync, untilGatewaySync } from '../support/gateway-syncs.ts';
import { startController } from '../support/start-controller.ts';
import { startGitea } from './start-gitea.ts';

const SECRET = 'secret-of-the-webhook';

test('a resource follows only its own repository, with one webhook for all repositories of a real Gitea server', async (t) => {
  const gitea = await startGitea();
  t.after(() => gitea.stop());
  const { namespace, kubeconfig } = await installReceiverRights(t);
  const receiver = await startReceiver(t, kubeconfig, { WEBHOOK_HMAC_SECRET: SECRET });
  for (const name of ['Own', 'unrelated'])
    await gitea.api('POST', '/user/repos', { name, private: true, auto_init: true, default_branch: 'main' });
  await gitea.api('POST', '/user/hooks', {
    type: 'gitea',
    active: true,
    events: ['create', 'push', 'release'],
    config: {
      content_type: 'json',
      secret: SECRET,
      url: `http://127.0.0.1:${receiver.port}/webhook/${namespace}/own`,
    },
  });
  const stringData = { read: await gitea.token('read', ['read:repository']), ca: gitea.ca };
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'gitea', namespace }, stringData });
  const key = (entry: string) => ({ name: 'gitea', key: entry });
  const address = { namespace, name: 'own' };
  const repo = `${gitea.url}/plant/Own.git`;
  await applyGatewaySync(address, { repo, auth: { token: { secretRef: key('read') } }, caSecretRef: key('ca') });
  await startController(t, namespace);
  await untilGatewaySync(address, 'resolved', ({ status }) => status?.lastSyncRef === 'main');

  const release = (name: string, tag: string) =>
    gitea.api('POST', `/repos/plant/${name}/releases`, { tag_name: tag, target_commitish: 'main' });
  await release('unrelated', 'v1.0.0');
  await receiver.program.waitForLog(/"reason":"OtherRepository".*"repository":"plant\/unrelated"/);
  await release('Own', 'v2.0.0');
  const { status } = await untilGatewaySync(
    address,
    'at its release',
    // Gitea sends several deliveries about a release, each of which is a request that is pending at first.
    (seen) => seen.status?.target?.source === 'Request' && seen.status.lastRequest?.outcome === 'Applied',
  );
  assert.match(String(status?.target?.ref), /v2\.0\.0$/);
  assert.deepEqual([status?.lastRequest?.outcome, status?.lastRequest?.repo], ['Applied', 'plant/own']);
  const annotations = await annotationsOf(await connectCluster(), namespace, 'own');
  assert.equal(annotations['sync.io/requested-repo'], 'plant/own');
});
