import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { pino } from 'pino';
import { ReportWriter } from '../../../agent/report/report-writer.ts';
import { API_VERSION, SYNC_REPORT } from '../../../shared/api/group.ts';
import type { SyncReport, SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createGatewayPod, type GatewayPod } from './support/gateway-pod.ts';

const first: SyncReportStatus = {
  podUID: 'u',
  gateway: 'edge',
  profile: 'default',
  crName: 'gw',
  state: 'Pending',
  message: 'waiting for the controller',
  agentVersion: '1',
};

/** Writes the report of a pod, and checks it soon after that. */
function startWriter(t: TestContext, { client, namespace, uid }: GatewayPod) {
  const identity = { podName: 'gateway-0', podUid: uid, namespace, crName: 'gw', profile: 'default' };
  const writer = new ReportWriter(first, {
    client,
    identity: { ...identity, gatewayName: undefined },
    offsetMs: () => 0,
    log: pino({ level: 'silent' }),
    firstCheckMs: 1_000,
  });
  const ending = new AbortController();
  const ended = writer.run(ending.signal);
  const stop = async () => {
    ending.abort();
    await ended;
  };
  t.after(stop);
  return { writer, stop };
}

/** Creates the report of an earlier pod of the same name. */
async function createEarlier(pod: GatewayPod): Promise<void> {
  const uid = '00000000-0000-4000-8000-000000000000';
  const metadata = {
    name: 'gateway-0',
    namespace: pod.namespace,
    ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'gateway-0', uid }],
  };
  const status = { ...first, state: 'Error', changes: ['add x'], podUID: 'gone' };
  await pod.client.create(syncReportPath(pod.namespace), {
    apiVersion: API_VERSION,
    kind: SYNC_REPORT.kind,
    metadata,
    status,
  });
}

const untilOwned = (pod: GatewayPod): Promise<SyncReport> =>
  pod.untilReport('the own report', ({ metadata }) => {
    return metadata.ownerReferences?.length === 1 && metadata.ownerReferences[0]?.uid === pod.uid;
  });

suite('the report of a pod', () => {
  test('replaces that of an earlier pod of the same name, with nothing left of it', async (t) => {
    const pod = await createGatewayPod(t);
    await createEarlier(pod);
    startWriter(t, pod);
    const { status } = await untilOwned(pod);
    assert.deepEqual({ ...status, reportedAt: undefined }, { ...first, reportedAt: undefined });
  });

  test('is written again after it was deleted, or an earlier one was restored', async (t) => {
    const pods = [await createGatewayPod(t), await createGatewayPod(t)] as const;
    for (const pod of pods) {
      startWriter(t, pod);
      await untilOwned(pod);
      await pod.client.delete(syncReportPath(pod.namespace, 'gateway-0'));
    }
    // Unless the other one exists again.
    await createEarlier(pods[1]).catch(() => {});
    for (const pod of pods) await untilOwned(pod);
  });

  test('is written only when something changes', async (t) => {
    const pod = await createGatewayPod(t);
    const { writer, stop } = startWriter(t, pod);
    const { metadata } = await untilOwned(pod);
    writer.set({ ...first });
    await stop();
    assert.equal((await pod.report()).metadata.resourceVersion, metadata.resourceVersion);
  });
});
