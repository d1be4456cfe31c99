import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ApiServer, startApiServer } from '../../../scripts/testbed/control-plane.ts';
import { installCrds } from '../../../scripts/testbed/install-crds.ts';
import { annotationsOf, createGatewaySync, startOwnReceiver } from './start-receiver.ts';

// A separate API server: it is stopped here.
let server: ApiServer;
before(async () => {
  server = await startApiServer();
});
after(() => server.stop());

test('a delivery gets 503 without the API server, and 202 as soon as it is back', async (t) => {
  const receiver = await startOwnReceiver(t, server.kubeconfig);

  const withoutCrd = await receiver.post('default/demo', { ref: 'v0' });
  assert.equal(withoutCrd.status, 503, 'a missing CRD is not a missing resource');

  await installCrds(server);
  await createGatewaySync(server, 'default', 'demo');
  assert.equal((await receiver.post('default/demo', { ref: 'v1' })).status, 202);

  await server.stopApiServer();
  const started = performance.now();
  const { status, headers, body } = await receiver.post('default/demo', { ref: 'v2' });
  assert.ok(performance.now() - started < 15_000, 'at the deadline of 8 s, because senders wait 10 s');
  assert.equal(status, 503);
  assert.equal(body.accepted, false);
  assert.ok(Number(headers.get('retry-after')) > 0);

  const duringRestart = receiver.post('default/demo', { ref: 'v3' });
  await server.startApiServer();
  assert.ok([202, 503].includes((await duringRestart).status));
  assert.equal((await receiver.post('default/demo', { ref: 'v4' })).status, 202);
  const annotations = await annotationsOf(server, 'default', 'demo');
  assert.equal(annotations['sync.io/requested-ref'], 'v4');
});
