import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../../scripts/testbed/free-port.ts';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace } from '../../support/cluster.ts';
import { injectedPod } from '../../support/gateway-pods.ts';
import { applyGatewaySync, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';

const PODS = 800;
const PATCHES_A_SECOND = 40;
const EDITS = 5;
/** Time without renewal after which a leader gives up its lease. */
const MAX_MS = 10_000;
const waves = Array.from({ length: 16 }, (_, index) => ({ name: `w${index}`, gateways: '1%', maxConcurrent: 1 }));

test('a fleet whose pods change all the time delays neither edits of other tenants nor probes', async (t) => {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const first = await repository.commit({ files: { 'config/a': '1' } });
  const hostile = await createNamespace(t);
  const calm = await createNamespace(t);
  const fleet = { namespace: hostile, name: 'fleet' };
  const other = { namespace: calm, name: 'other' };
  await inLanes(PODS, (index) =>
    callApi({ method: 'POST', path: corePath('pods', hostile), body: injectedPod(hostile, `p${index}`, 'fleet') }),
  );
  const port = await freePort();
  await startController(t, `${hostile},${calm}`, { POD_NAMESPACE: calm, HEALTH_PORT: `${port}`, LOG_LEVEL: 'info' });
  const spec = {
    polling: { interval: '5s' },
    rollout: { waves, maxFailures: 100, progressDeadline: '24h', previewTimeout: '0s' },
  };
  await applyGatewaySync(fleet, { repo: repository.url }, spec);
  await untilGatewaySync(fleet, 'the first commit', ({ status }) => status?.rollout?.commit === first);
  await repository.commit({ files: { 'config/a': '2' } });
  await untilGatewaySync(fleet, 'a rollout', ({ status }) => status?.rollout?.phase === 'Progressing');

  const flood = floodOf(hostile);
  const edits: number[] = [];
  const probes: number[] = [];
  const stopProbes = repeatedly(async () => {
    probes.push(await timeOf(() => fetch(`http://127.0.0.1:${port}/healthz`)));
  });
  for (let generation = 1; generation <= EDITS; generation += 1) {
    const polling = { interval: `${60 + generation}s` };
    await applyGatewaySync(other, { repo: repository.url }, { paused: true, polling });
    const seen = () => untilGatewaySync(other, 'the edit', ({ status }) => status?.observedGeneration === generation);
    edits.push(await timeOf(seen));
    await sleep(300);
  }
  await Promise.all([flood(), stopProbes()]);
  assert.ok(Math.max(...edits) < MAX_MS, `edits took ${edits.map(Math.round).join()} ms`);
  assert.ok(Math.max(...probes) < MAX_MS, `the slowest of ${probes.length} probes took ${Math.max(...probes)} ms`);
});

/** Changes the labels of pods until it is stopped. */
function floodOf(namespace: string): () => Promise<void> {
  let count = 0;
  return repeatedly(async () => {
    count += 1;
    const path = corePath('pods', namespace, `p${count % PODS}`);
    const body = { metadata: { labels: { x: `v${count}` } } };
    // In sequence, they would be limited by the speed of the API server.
    void callApi({ method: 'PATCH', path, body, contentType: 'application/merge-patch+json' }).catch(() => {});
    await sleep(1000 / PATCHES_A_SECOND);
  });
}

/** Repeats an action; returns the function that stops it. */
function repeatedly(act: () => Promise<void>): () => Promise<void> {
  let isOver = false;
  const ended = (async () => {
    for (; !isOver; await sleep(10)) await act();
  })();
  return async () => {
    isOver = true;
    await ended;
  };
}

async function inLanes(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) await act(next++);
  };
  await Promise.all(Array.from({ length: 12 }, lane));
}

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await act();
  return performance.now() - began;
}
