import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { GatewayClient } from '../../../../agent/gateway/gateway-client.ts';
import { VerdictFile } from '../../../../agent/gateway/verdict-file.ts';
import { Verifier } from '../../../../agent/gateway/verifier.ts';
import { AgentMetrics } from '../../../../agent/metrics.ts';
import { Announcer } from '../../../../agent/report/announcer.ts';
import type { Finding } from '../../../../agent/report/reports.ts';
import type { WatchedResource } from '../../../../agent/resource/watch-resource.ts';
import { SyncLoop } from '../../../../agent/sync/sync-loop.ts';
import { DataRoot } from '../../../../agent/volume/data-root.ts';
import { makeTemporaryFolder } from '../../../../scripts/testbed/temporary-folder.ts';
import type { GatewaySyncSpec } from '../../../../shared/api/gateway-sync.ts';

const log = pino({ level: 'silent' });
const mapping = { source: '.', destination: '.', required: true, template: false };

function resourceOf(gateway: object, generation: number, observedGeneration: number): WatchedResource {
  const spec = {
    git: { repo: 'https://git.test/x', ref: 'main' },
    gateway,
    paused: false,
    sync: { profiles: { default: { mappings: [mapping] } } },
  } as unknown as GatewaySyncSpec;
  const refResolved = { status: 'True', message: '' };
  return { generation, spec, observedGeneration, refResolved, ref: 'main', commit: 'a'.repeat(40), gateways: 1 };
}

/** Of a gateway that has nothing but errors to say. */
async function verifierOf(t: TestContext): Promise<Verifier> {
  const { path: folder, remove } = await makeTemporaryFolder('sync-loop-');
  t.after(remove);
  const root = await DataRoot.open(folder);
  const verdicts = new VerdictFile(
    () => root.openAgentFolder(''),
    () => {},
  );
  const server = createServer((_, response) => response.writeHead(500).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  const { port } = server.address() as AddressInfo;
  const client = new GatewayClient({ port, tls: false, apiKeyFile: path.join(folder, 'none') });
  return new Verifier({ client, verdicts, log });
}

/** What is reported up to the end if the spec is edited in the first sync. */
async function reportEdited(t: TestContext, gateway: object, isEnd: (finding: Finding) => boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const stop = new AbortController();
  let syncs = 0;
  const report = async (finding: Finding) => {
    findings.push(finding);
    if (isEnd(finding)) stop.abort();
  };
  const loop: SyncLoop = new SyncLoop({
    profileName: 'default',
    surroundings: {
      self: () => ({ identity: { podName: 'gateway-0', gatewayName: undefined }, labels: new Map() }),
      findRevision: () => ({ kind: 'missing', message: '' }),
    },
    sync: async () => {
      syncs += 1;
      if (syncs === 1) loop.onResource(resourceOf(gateway, 6, 5));
      return { kind: 'synced', plan: { changes: [], drift: [], isPartial: false } as never };
    },
    reload: async () => true,
    verifier: await verifierOf(t),
    tidy: async () => {},
    lastGood: async () => undefined,
    announcer: new Announcer({ report, metrics: new AgentMetrics('0.0.0'), log }),
    log,
  });
  loop.onResource(resourceOf(gateway, 5, 5));
  await loop.run(AbortSignal.any([stop.signal, t.signal]));
  assert.ok(stop.signal.aborted);
  return findings;
}

suite('a spec that is edited while a sync runs', () => {
  test('does not let the gateway pass for one that nobody verifies', async (t) => {
    const verify = { requests: [{ path: '/health' }], for: '1s', interval: '1s', failureThreshold: 1 };
    const findings = await reportEdited(t, { port: 1, verify }, ({ verification }) => verification === 'Failed');
    const said = findings.map(({ state, verification }) => [state, verification]);
    assert.deepEqual(said[0], ['Synced', 'Running']);
    assert.ok(said.every(([, verification]) => verification !== undefined));
  });

  test('says nothing of a verification where none is asked for', async (t) => {
    const [finding] = await reportEdited(t, { port: 1 }, () => true);
    assert.equal(finding?.state, 'Synced');
    assert.equal(finding?.verification, undefined);
  });
});
