import assert from 'node:assert/strict';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { until } from '../../support/until.ts';
import { createGatewaySync, startOwnReceiver } from './start-receiver.ts';

const cluster = await connectCluster();

test('a secret is rotated without a restart, and both values are accepted in the meantime', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const directory = await temporaryDirectory(t, 'receiver-token-');
  const file = join(directory, 'webhook-token');
  await writeFile(file, 'old\n');
  const receiver = await startOwnReceiver(t, cluster.kubeconfig, {
    WEBHOOK_BEARER_TOKEN_FILE: file,
    WEBHOOK_BEARER_TOKEN: 'inline',
  });
  const statusWith = async (token: string) =>
    (await receiver.post(`${namespace}/demo`, { ref: 'v1' }, { Authorization: `Bearer ${token}` })).status;

  assert.deepEqual([await statusWith('old'), await statusWith('new'), await statusWith('inline')], [202, 401, 401]);
  await writeFile(file, 'new\nold\n');
  await until(async () => (await statusWith('new')) === 202, { describe: 'the new token is accepted' });
  assert.equal(await statusWith('old'), 202);
  await writeFile(file, 'new\n');
  await until(async () => (await statusWith('old')) === 401, { describe: 'the old token is refused' });
  assert.equal(await statusWith('new'), 202);

  await writeFile(join(directory, `${namespace}.demo`), 'own');
  await until(async () => (await statusWith('own')) === 202, { describe: 'its own token is accepted' });
  assert.equal(await statusWith('new'), 401);
});

test('a missing secret file rejects all deliveries, and is logged', async (t) => {
  const receiver = await startOwnReceiver(t, cluster.kubeconfig, {
    WEBHOOK_HMAC_SECRET_FILE: '/nowhere/webhook-secret',
  });
  await receiver.program.waitForLog(/"level":"error".*no HMAC secret found in \/nowhere\/webhook-secret.*not ready/);
  assert.equal((await receiver.post('default/demo', { ref: 'v1' })).status, 401);
});

test(
  'a receiver whose Secret lacks its key is unready and names it; later the last good value stays',
  slow,
  async (t) => {
    const directory = await temporaryDirectory(t, 'receiver-keys-');
    const file = join(directory, 'webhook-secret');
    await writeFile(join(directory, 'hmac-key'), 'secret');
    const receiver = await startOwnReceiver(t, cluster.kubeconfig, { WEBHOOK_HMAC_SECRET_FILE: file });
    const readiness = async () => (await fetch(`${receiver.healthUrl}/readyz`)).status;
    assert.equal(await readiness(), 503);
    assert.equal((await fetch(`${receiver.healthUrl}/healthz`)).status, 200);
    await receiver.program.waitForLog(
      /"level":"error".*the Secret has the keys hmac-key; specify an existing key.*not ready/,
    );
    await rename(join(directory, 'hmac-key'), file);
    await until(async () => (await readiness()) === 200, { describe: 'readiness' });
    await rename(file, join(directory, 'hmac-key'));
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    assert.equal(await readiness(), 200);
  },
);

test('a receiver with secrets of single resources only is ready', async (t) => {
  const directory = await temporaryDirectory(t, 'receiver-own-');
  await writeFile(join(directory, 'team.demo'), 'own');
  const receiver = await startOwnReceiver(t, cluster.kubeconfig, {
    WEBHOOK_HMAC_SECRET_FILE: join(directory, 'webhook-secret'),
  });
  assert.equal((await fetch(`${receiver.healthUrl}/readyz`)).status, 200);
});
