import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { ReportWriter } from '../../../../agent/report/report-writer.ts';
import { KubernetesClient } from '../../../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../../../shared/io/kubernetes/credentials.ts';

const identity = { podName: 'p', podUid: 'u', namespace: 'n', crName: 'c', profile: 'default', gatewayName: undefined };

test('a report that the API server defers is written when Retry-After expires', async (t) => {
  const calls: number[] = [];
  const server = createServer((request, response) => {
    calls.push(performance.now());
    request.resume();
    if (calls.length === 1) response.writeHead(429, { 'Retry-After': '2' }).end();
    else response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
    if (calls.length === 2) server.emit('written');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const config = new KubeConfig();
  const { port } = server.address() as AddressInfo;
  config.loadFromClusterAndUser({ name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: true }, { name: 'u' });
  const client = new KubernetesClient(new ApiCredentials(config), { userAgent: 'test' });
  t.after(() => {
    client.close();
    server.close().closeAllConnections();
  });
  const status = { podUID: 'u', gateway: 'g', profile: 'default', crName: 'c', state: 'Pending', agentVersion: '1' };
  const writer = new ReportWriter(status as never, {
    client,
    identity,
    offsetMs: () => 0,
    log: pino({ level: 'silent' }),
  });
  const ending = new AbortController();
  const written = once(server, 'written');
  const ended = writer.run(ending.signal);
  await written;
  ending.abort();
  await ended;
  const [first = 0, second = 0] = calls;
  assert.ok(second - first >= 1_900, `${second - first} ms`);
});
