import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { until } from '../../support/until.ts';
import { createGatewaySync, startReceiver } from './start-receiver.ts';

const cluster = await connectCluster();

test('a secret is rotated without a restart, and both values are accepted meanwhile', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const folder = await mkdtemp(join(tmpdir(), 'receiver-token-'));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'webhook-token');
  await writeFile(file, 'old\n');
  const receiver = await startReceiver(t, cluster.kubeconfig, {
    WEBHOOK_BEARER_TOKEN_FILE: file,
    WEBHOOK_BEARER_TOKEN: 'inline',
  });
  const statusWith = async (token: string) =>
    (await receiver.post(`${namespace}/demo`, { ref: 'v1' }, { Authorization: `Bearer ${token}` })).status;

  assert.deepEqual([await statusWith('old'), await statusWith('new'), await statusWith('inline')], [202, 401, 401]);
  await writeFile(file, 'new\nold\n');
  await until(async () => (await statusWith('new')) === 202, { describe: 'the new token is accepted', timeout: 5000 });
  assert.equal(await statusWith('old'), 202);
  await writeFile(file, 'new\n');
  await until(async () => (await statusWith('old')) === 401, { describe: 'the old token is refused', timeout: 5000 });
  assert.equal(await statusWith('new'), 202);

  await writeFile(join(folder, `${namespace}.demo`), 'own');
  await until(async () => (await statusWith('own')) === 202, { describe: 'its own token is accepted', timeout: 5000 });
  assert.equal(await statusWith('new'), 401);
});

test('a file that is not there lets nobody in, and says so', async (t) => {
  const receiver = await startReceiver(t, cluster.kubeconfig, { WEBHOOK_HMAC_SECRET_FILE: '/nowhere/webhook-secret' });
  assert.match(receiver.program.output, /"level":"warn".*no HMAC secret can be read/);
  assert.equal((await receiver.post('default/demo', { ref: 'v1' })).status, 401);
});
