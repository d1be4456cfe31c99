import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { suite, type TestContext, test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { renewSelfSigned } from '../../../../controller/certificates/renew-certificates.ts';
import { ScrapeAuthorizer } from '../../../../controller/metrics/scrape-authorizer.ts';
import { serveMetrics } from '../../../../controller/metrics/serve-metrics.ts';
import { freePort } from '../../../../scripts/testbed/free-port.ts';
import type { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { createLogger } from '../../../../shared/log.ts';
import { clientWith } from '../../../support/client-with.ts';
import { slow } from '../../../support/depth.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { until } from '../../../support/until.ts';

const DAY = 86_400_000;
const host = 'operator-metrics.system.svc';
const hosts = [host, `${host}.cluster.local`];

/** Serves with a certificate of this age. */
async function serve(t: TestContext, age: number, client = {} as KubernetesClient) {
  const directory = await temporaryDirectory(t, 'metrics-');
  const clock = { now: Date.now() - age };
  const port = await freePort();
  const server = await serveMetrics({
    host: '127.0.0.1',
    port,
    renew: (current) => renewSelfSigned(current, hosts, clock.now),
    page: { contentType: 'text/plain', metrics: async () => 'up 1\n' },
    authorizer: new ScrapeAuthorizer(client),
    directory,
    log: createLogger('test', { level: 'silent' }),
    checkMs: 5,
  });
  t.after(() => server.close(100));
  return { port, clock };
}

/** Sends a request on a new connection; returns the status and the certificate, which must match the name. */
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
  test('has a certificate for the names of its Service, and answers only clients with a token', async (t) => {
    const { port } = await serve(t, 0);
    const { status, certificate } = await scrape(port);
    assert.equal(status, 401);
    for (const name of hosts) assert.equal(certificate.checkHost(name), name);
    assert.equal(certificate.ca, false);
    assert.equal((await scrape(port, certificate.toString())).status, 401, 'a client that trusts it is content');
  });

  test('answers again soon after it had too many connections, which never send a request', slow, async (t) => {
    const { port } = await serve(t, 0);
    const sockets = Array.from({ length: 60 }, () => connectPlain({ port, host: '127.0.0.1' }).on('error', () => {}));
    t.after(() => sockets.map((socket) => socket.destroy()));
    await Promise.all(sockets.map((socket) => once(socket.resume(), 'connect')));
    await assert.rejects(scrape(port));
    await until(() => sockets.every(({ destroyed }) => destroyed), { describe: 'all are closed' });
    assert.equal((await scrape(port)).status, 401);
  });

  test('rejects clients with unknown tokens at once when too many of them wait', async (t) => {
    const asked: string[] = [];
    const client = clientWith({
      create: (_: string, { spec }: { spec: { token: string } }) => {
        asked.push(spec.token);
        return new Promise(() => {});
      },
    });
    const { port } = await serve(t, 0, client);
    const sockets = await Promise.all(
      Array.from({ length: 2 }, async () => {
        const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
        t.after(() => socket.destroy());
        await once(socket, 'secureConnect');
        return socket;
      }),
    );
    for (const socket of sockets)
      socket.write('GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\n\r\n'.repeat(16));
    await until(() => asked.length === 3, { describe: 'reviews are under way' });
    const call = request({
      port,
      host: '127.0.0.1',
      path: '/metrics',
      agent: false,
      rejectUnauthorized: false,
      headers: { authorization: 'Bearer y' },
    }).end();
    const [response] = await once(call, 'response', { signal: AbortSignal.timeout(5_000) });
    response.resume();
    assert.deepEqual([response.statusCode, response.headers['retry-after']], [503, '1']);
  });

  test('uses a new certificate a month before the last one expires, without a restart', async (t) => {
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
