import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectCluster, createNamespace } from '../../support/cluster.ts';
import { startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';
import { annotationsOf, createGatewaySync, startReceiver } from './start-receiver.ts';

const cluster = await connectCluster();

test('on SIGTERM the receiver turns unready, finishes open requests, and exits with 0', async (t) => {
  const namespace = await createNamespace(t);
  await createGatewaySync(cluster, namespace, 'demo');
  const receiver = await startReceiver(t, cluster.kubeconfig);
  const readiness = async () => (await fetch(`${receiver.healthUrl}/readyz`)).status;
  assert.equal(await readiness(), 200);

  const outgoing = request({
    port: receiver.port,
    method: 'POST',
    path: `/webhook/${namespace}/demo`,
    headers: { 'Content-Type': 'application/json', 'Content-Length': 14 },
  });
  const status = new Promise<number | undefined>((resolve, reject) => {
    outgoing.on('error', reject).on('response', (response) => resolve(response.resume().statusCode));
  });
  await new Promise((resolve) => outgoing.write('{"ref":', resolve));

  const ended = receiver.program.stop('SIGTERM');
  await until(async () => (await readiness()) === 503, { describe: 'readiness is false' });
  // First of all, because it accepts connections for three seconds only.
  const late = await receiver.post(`${namespace}/demo`, { ref: 'late' });
  assert.equal(late.status, 202, 'the cluster may still send some');
  assert.equal(
    late.headers.get('connection'),
    'close',
    'a proxy must not send the next one as the connection is closed',
  );
  assert.equal((await fetch(`${receiver.healthUrl}/healthz`)).status, 200);
  await receiver.program.waitForLog(/stopping/);
  await sleep(4000);
  outgoing.end('"v9.0"}');
  assert.equal(await status, 202);
  assert.deepEqual(await ended, { code: 0, signal: null });
  assert.equal((await annotationsOf(cluster, namespace, 'demo'))['sync.io/requested-ref'], 'v9.0');
});

test('a second signal ends the receiver at once', async (t) => {
  const receiver = await startReceiver(t, cluster.kubeconfig);
  const ended = receiver.program.stop('SIGTERM');
  await receiver.program.waitForLog(/stopping/);
  await receiver.program.stop('SIGINT');
  assert.equal((await ended).code, 1, 'an orderly end gives 0');
});

test('an invalid configuration is reported completely, and the receiver exits with 1', async (t) => {
  const env = { RECEIVER_PORT: 'x', HEALTH_PORT: 'y', TLS_CERT_FILE: '/c', KUBECONFIG: cluster.kubeconfig };
  const program = startProgram(t, 'dist/receiver.mjs', { env });
  assert.equal((await program.exited).code, 1);
  for (const variable of ['RECEIVER_PORT', 'HEALTH_PORT', 'TLS_KEY_FILE'])
    await program.waitForLog(new RegExp(variable));
});

test('the receiver exits with 1 if its port is in use', async (t) => {
  const receiver = await startReceiver(t, cluster.kubeconfig);
  const env = { RECEIVER_HOST: '127.0.0.1', RECEIVER_PORT: String(receiver.port), KUBECONFIG: cluster.kubeconfig };
  const program = startProgram(t, 'dist/receiver.mjs', { env });
  assert.equal((await program.exited).code, 1);
  await program.waitForLog(/receiver not started/);
});
