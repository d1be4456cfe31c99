import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { suite, type TestContext, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import { renewSelfSigned } from '../../../../controller/certificates/renew-certificates.ts';
import { ScrapeAuthorizer, serveMetrics } from '../../../../controller/metrics/serve-metrics.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { createLogger } from '../../../../shared/log.ts';
import { holdConnections } from '../../../support/hold-connections.ts';
import { until } from '../../../support/until.ts';

const DAY = 86_400_000;
const host = 'operator-metrics.system.svc';
const hosts = [host, `${host}.cluster.local`];

/** Serves with a certificate that was made so long ago. */
async function serve(t: TestContext, age: number) {
  const folder = await makeTemporaryFolder('metrics-');
  t.after(() => folder.remove());
  const clock = { now: Date.now() - age };
  const port = await freePort();
  const server = await serveMetrics({
    port,
    renew: (current) => renewSelfSigned(current, hosts, clock.now),
    page: { contentType: 'text/plain', metrics: async () => 'up 1\n' },
    authorizer: new ScrapeAuthorizer({} as KubernetesClient),
    folder: folder.path,
    log: createLogger('test', { level: 'silent' }),
    checkMs: 5,
  });
  t.after(() => server.close(100));
  return { port, clock };
}

/** One request on its own connection: the status, and the certificate, which must be good for the name. */
async function scrape(port: number, ca?: string) {
  const trust = ca === undefined ? { rejectUnauthorized: false } : { ca };
  const call = request({ port, host: '127.0.0.1', path: '/metrics', agent: false, servername: host, ...trust }).end();
  const [response] = await once(call, 'response');
  call.on('error', () => {});
  const certificate = (response.socket as TLSSocket).getPeerX509Certificate();
  response.resume();
  assert.ok(certificate);
  return { status: response.statusCode as number, certificate };
}

suite('the metrics endpoint', { concurrency: true }, () => {
  test('has a certificate for the names of its Service, and answers nobody without a token', async (t) => {
    const { port } = await serve(t, 0);
    const { status, certificate } = await scrape(port);
    assert.equal(status, 401);
    for (const name of hosts) assert.equal(certificate.checkHost(name), name);
    assert.equal(certificate.ca, false);
    assert.equal((await scrape(port, certificate.toString())).status, 401, 'a client that trusts it is content');
  });

  test('answers also where other addresses hold all its connections', async (t) => {
    const { port } = await serve(t, 0);
    const addresses = Array.from({ length: 6 }, (_, index) => `127.0.0.${index + 2}`);
    await Promise.all(addresses.map((from) => holdConnections(t, { port, from, count: 10 })));
    for (let scrapes = 0; scrapes < 10; scrapes += 1) assert.equal((await scrape(port)).status, 401);
  });

  test('takes up a new certificate a month before the last one ends, without a restart', async (t) => {
    const { port, clock } = await serve(t, 80 * DAY);
    const first = (await scrape(port)).certificate;
    clock.now += 50 * DAY;
    await scrape(port);
    assert.equal((await scrape(port)).certificate.fingerprint256, first.fingerprint256, 'too early');
    clock.now = Date.now();
    const next = await until(() => scrape(port), {
      describe: 'another certificate',
      accept: ({ certificate }) => certificate.fingerprint256 !== first.fingerprint256,
      interval: 5,
    });
    assert.ok(Date.parse(next.certificate.validTo) > Date.now() + 89 * DAY);
    assert.equal((await scrape(port, next.certificate.toString())).status, 401);
  });
});

/** An API server that knows one token, and how much it is asked. */
function reviewer() {
  const asked = { tokens: [] as string[], underWay: 0, most: 0 };
  const client = {
    create: async (path: string, { spec }: { spec: { token?: string } }) => {
      if (path.endsWith('subjectaccessreviews')) return { status: { allowed: true } };
      asked.tokens.push(spec.token ?? '');
      asked.underWay += 1;
      asked.most = Math.max(asked.most, asked.underWay);
      await nextTurn();
      asked.underWay -= 1;
      return { status: { authenticated: spec.token === 'prometheus', user: { username: 'prometheus' } } };
    },
  } as unknown as KubernetesClient;
  return { authorizer: new ScrapeAuthorizer(client), asked };
}

suite('callers with made-up tokens', () => {
  test('do not have the one forgotten who may read', async () => {
    const { authorizer, asked } = reviewer();
    assert.equal(await authorizer.authorize('Bearer prometheus'), 'allowed');
    for (let n = 0; n < 200; n += 1) assert.equal(await authorizer.authorize(`Bearer made-up-${n}`), 'unauthenticated');
    assert.equal(await authorizer.authorize('Bearer prometheus'), 'allowed');
    assert.equal(asked.tokens.filter((token) => token === 'prometheus').length, 1);
  });

  test('have the API server asked by few calls at a time: the lease goes over the same connections', async () => {
    const { authorizer, asked } = reviewer();
    await Promise.all(Array.from({ length: 200 }, (_, n) => authorizer.authorize(`Bearer made-up-${n}`)));
    assert.equal(asked.tokens.length, 200);
    assert.ok(asked.most <= 4, String(asked.most));
  });
});
