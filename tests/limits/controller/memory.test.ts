import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { readNodeFlags } from '../../../scripts/images/read-entry-point.ts';
import { clientOf } from '../../../scripts/testbed/client-of.ts';
import { startApiServer } from '../../../scripts/testbed/control-plane.ts';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { installCrds } from '../../../scripts/testbed/install-crds.ts';
import { LIMIT_KB } from '../../../scripts/testbed/memory-limit.ts';
import { BOUNDS } from '../../../shared/api/bounds.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_REPORT } from '../../../shared/api/group.ts';
import { INSPECTION } from '../../../shared/api/inspection.ts';
import { REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../../shared/io/kubernetes/client.ts';
import { corePath, gatewaySyncPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { gatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { makeCgroup, watchMemory } from '../../support/memory-limit.ts';
import { type Program, startProgram } from '../../support/program.ts';
import { until } from '../../support/until.ts';

const LARGE = 200;
const REPORTS = 120;
const hostile = 'hostile';
const other = 'other';

/** A profile of about so many bytes that the API server accepts. */
function largeProfiles(bytes: number) {
  const set = Object.fromEntries(Array.from({ length: 30 }, (_, key) => [`key${key}`, 'x'.repeat(500)]));
  const patches = Array.from({ length: 15 }, () => ({ file: '', set }));
  const mapping = { source: 'config', destination: 'config', patches };
  const count = Math.floor(bytes / JSON.stringify(mapping).length);
  return { default: { mappings: Array.from({ length: count }, () => mapping) } };
}

/** Starts a separate control plane, because the amount of data would slow down other tests. */
async function arrange(t: TestContext) {
  const cluster = await startApiServer();
  t.after(() => cluster.stop());
  await installCrds(cluster);
  const client = clientOf(cluster.kubeconfig, { userAgent: 'test', maxSockets: 4 });
  for (const name of [hostile, other])
    await client.create(corePath('namespaces'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  await repository.commit({ files: { 'config/a': '1' } });
  await repository.tag('v1');
  const create = (address: { namespace: string; name: string }, spec: object) => {
    const body = gatewaySync(address, { repo: repository.url }, spec);
    return client.create(gatewaySyncPath(address.namespace), body, { accept: METADATA_ONLY });
  };
  await create({ namespace: other, name: 'app' }, {});
  return { client, kubeconfig: cluster.kubeconfig, create };
}

type Create = Awaited<ReturnType<typeof arrange>>['create'];

async function createLarge(create: Create): Promise<void> {
  const sync = { profiles: largeProfiles(1_000_000) };
  for (let first = 0; first < LARGE; first += 4) {
    const names = Array.from({ length: 4 }, (_, n) => `large-${first + n}`);
    await Promise.all(names.map((name) => create({ namespace: hostile, name }, { sync })));
  }
}

/** Creates reports of the maximum size that the CRD allows, for pods that don't exist. */
async function createReports(client: KubernetesClient): Promise<void> {
  const inspection = { id: 'x', sealed: '\u{1f600}'.repeat(INSPECTION.sealed) };
  const message = '\u{1f600}'.repeat(BOUNDS.message);
  for (let n = 0; n < REPORTS; n += 1) {
    const metadata = { name: `gone-${n}`, namespace: hostile };
    const body = {
      apiVersion: API_VERSION,
      kind: SYNC_REPORT.kind,
      metadata,
      status: { state: 'Synced', message, inspection },
    };
    await client.create(syncReportPath(hostile), body, { accept: METADATA_ONLY });
  }
}

/** The controller as it is in its container. */
async function start(t: TestContext, kubeconfig: string, metricsPort: number): Promise<Program> {
  const cgroup = await makeCgroup();
  const program = startProgram(t, 'dist/controller.mjs', {
    nodeArgs: [...(await readNodeFlags('controller')), ...(cgroup?.flags ?? [])],
    env: {
      KUBECONFIG: kubeconfig,
      POD_NAME: `controller-${process.pid}`,
      POD_NAMESPACE: other,
      LEADER_ELECTION: 'false',
      WEBHOOK_PORT: '0',
      METRICS_PORT: String(metricsPort),
      METRICS_SECURE: 'false',
      HEALTH_PORT: String(await freePort()),
      GIT_ALLOW_LOCAL: 'true',
    },
  });
  // After the controller is gone: it was started before.
  t.after(() => cgroup?.remove());
  await program.waitForLog(/controller started/);
  return program;
}

/** Requests v1, and returns the time until the status reports it as applied (ms). */
async function measureRequest(client: KubernetesClient, program: Program): Promise<number> {
  const path = gatewaySyncPath(other, 'app');
  const id = `${Math.random()}`;
  const { requestedRef, requestedAt, requestId } = REQUEST_ANNOTATIONS;
  const annotations = { [requestedRef]: 'v1', [requestedAt]: new Date().toISOString(), [requestId]: id };
  const asked = performance.now();
  await client.mergePatch(path, { metadata: { annotations } });
  await whileAlive(
    program,
    until(() => client.getAs<GatewaySync>(path), {
      describe: 'the request is applied',
      accept: ({ status }) => status?.lastRequest?.id === id && status.lastRequest.outcome === 'Applied',
    }),
  );
  return performance.now() - asked;
}

/** Resolves to the awaited value, or rejects with the last output of a program that died. */
function whileAlive<T>(program: Program, awaited: Promise<T>): Promise<T> {
  const death = program.exited.then((end) => {
    throw new Error(`the controller ended (${JSON.stringify(end)}): ${program.output.slice(-2_000)}`);
  });
  return Promise.race([awaited, death]);
}

async function countResolved(metricsPort: number): Promise<number> {
  const page = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
  return Number(/^sync_controller_conditions\{type="RefResolved",status="True"\} (\d+)$/m.exec(page)?.[1] ?? 0);
}

/** Changes some of the large ones, so that the watch brings them as a whole. */
async function touchLarge(client: KubernetesClient): Promise<void> {
  const metadata = { annotations: { touched: 'yes' } };
  for (let n = 0; n < LARGE / 5; n += 1)
    await client.mergePatch(gatewaySyncPath(hostile, `large-${n}`), { metadata }, { accept: METADATA_ONLY });
}

suite('a controller with 128 MiB', { skip: process.platform !== 'linux' && 'it reads /proc' }, () => {
  test(`reconciles ${LARGE} resources of a megabyte each, and handles the requests of others`, {
    timeout: 600_000,
  }, async (t) => {
    const { client, kubeconfig, create } = await arrange(t);
    await createLarge(create);
    t.diagnostic(`made after ${performance.now().toFixed(0)} ms`);
    const metricsPort = await freePort();
    const started = performance.now();
    const program = await start(t, kubeconfig, metricsPort);
    const memory = watchMemory(program.pid);
    t.after(() => memory.stop());
    const all = until(() => countResolved(metricsPort), {
      describe: 'all of them resolved',
      accept: (count) => count === LARGE + 1,
      timeout: 400_000,
    });
    await whileAlive(program, all);
    const took = performance.now() - started;
    const touched = touchLarge(client);
    const latencies = [await measureRequest(client, program), await measureRequest(client, program)];
    await touched;
    latencies.push(await measureRequest(client, program));
    const peak = memory.stop();
    t.diagnostic(
      [`all within ${took.toFixed(0)} ms`, `requests within ${latencies.map(Math.round).join(', ')} ms`]
        .concat(`${(peak / 1024).toFixed(0)} MiB at the peak`)
        .join('; '),
    );
    assert.ok(peak > 0 && peak < LIMIT_KB, `${peak} kB at the peak`);
  });

  test(`has room for others next to ${REPORTS} reports of a megabyte each, whose pods are gone`, {
    timeout: 600_000,
  }, async (t) => {
    const { client, kubeconfig } = await arrange(t);
    await createReports(client);
    const metricsPort = await freePort();
    const program = await start(t, kubeconfig, metricsPort);
    const memory = watchMemory(program.pid);
    t.after(() => memory.stop());
    // Nothing is reconciled before everything is listed.
    const resolved = until(() => countResolved(metricsPort), { describe: 'resolved', accept: (count) => count === 1 });
    await whileAlive(program, resolved);
    const latency = await measureRequest(client, program);
    const peak = memory.stop();
    t.diagnostic(`a request within ${latency.toFixed(0)} ms; ${(peak / 1024).toFixed(0)} MiB at the peak`);
    assert.ok(peak > 0 && peak < LIMIT_KB, `${peak} kB at the peak`);
  });
});
