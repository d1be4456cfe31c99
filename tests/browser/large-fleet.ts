import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, SYNC_REPORT } from '../../shared/api/group.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { planOf, rolloutKey } from '../../shared/domain/rollout/waves.ts';
import { corePath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../support/cluster.ts';
import { injectedPod } from '../support/gateway-pods.ts';
import { gatewaysOf, minutesAgo, OLD, releaseOf, revision, statusOf, writeResource } from './example-fleet.ts';

const LISTED = 200;
const waves = [
  { name: 'canary', gateways: '1%' },
  { name: 'early', gateways: '20%' },
  { name: 'main', gateways: '90%', approval: true },
];
/** Calls at the same time: more make the API server slower. */
const CALLS = 16;

/**
 * Writes a GatewaySync in the middle of its second wave, with a pod and a report for each gateway. One in 50 failed, and
 * the status lists as many as a real one.
 */
export async function writeLargeFleet({ namespace, name, count }: { namespace: string; name: string; count: number }) {
  const sorted = gatewaysOf({ namespace, name, count }).sort((a, b) =>
    rolloutKey(a.name, a.podName) < rolloutKey(b.name, b.podName) ? -1 : 1,
  );
  const keys = sorted.map((gateway) => rolloutKey(gateway.name, gateway.podName));
  const upTo = (share: number) => keys[Math.max(1, Math.round(count * share)) - 1] ?? '';
  const admitted = Math.round(count * 0.15);
  const gateways = sorted.map((gateway, index) => {
    if (index >= admitted) return { ...gateway, syncedCommit: OLD };
    const isBroken = index > 0 && index % 50 === 0;
    return isBroken ? { ...gateway, syncStatus: 'Error' as const, syncedCommit: OLD, message: FULL } : gateway;
  });
  const work = gateways.entries();
  const write = async () => {
    for (const [index, { podName, syncStatus, syncedCommit = OLD, message }] of work) {
      const isRunning = index < admitted && index > count * 0.12;
      await writeGateway(namespace, name, podName, {
        state: syncStatus,
        commit: syncedCommit,
        verification: isRunning ? 'Running' : 'Passed',
        ...(message && { message, hasFailed: true }),
      });
    }
  };
  await Promise.all(Array.from({ length: CALLS }, write));
  const failed = gateways.filter(({ syncStatus }) => syncStatus === 'Error');
  const summary = `early ${admitted - failed.length}/${Math.round(count * 0.19)}`;
  const message = `waiting for ${failed[0]?.name ?? 'a gateway'} in wave early since ${minutesAgo(2)}`;
  const rollout = releaseOf({
    number: 4,
    phase: 'Progressing',
    wave: 'early',
    summary,
    message,
    startedAt: minutesAgo(16),
    admitted,
    verified: admitted - failed.length,
    total: count,
    plan: planOf(waves),
    admission: [
      { wave: 'canary', members: upTo(0.01), admitted: upTo(0.01) },
      { wave: 'early', members: upTo(0.2), admitted: upTo(0.15) },
      { wave: 'main', members: upTo(0.9), admitted: '' },
      { wave: 'rest', members: 'all', admitted: '' },
    ],
  });
  const first = gateways.toSorted((a, b) => Number(b.syncStatus === 'Error') - Number(a.syncStatus === 'Error'));
  const status: GatewaySyncStatus = {
    ...statusOf(gateways, ['Unknown', 'RolloutProgressing', message]),
    discoveredGateways: first.slice(0, LISTED).sort((a, b) => (a.podName < b.podName ? -1 : 1)),
    rollout,
  };
  await writeResource({ namespace, name }, { status, spec: { rollout: { waves } } });
  return { failed };
}

const FULL = 'the data volume is full (ENOSPC, config/limits.json)';

async function writeGateway(namespace: string, crName: string, pod: string, status: Partial<SyncReportStatus>) {
  const { metadata } = await callApi<{ metadata: { uid: string } }>({
    method: 'POST',
    path: corePath('pods', namespace),
    body: injectedPod(namespace, pod, crName),
  });
  await callApi({
    method: 'POST',
    path: syncReportPath(namespace),
    body: {
      apiVersion: API_VERSION,
      kind: SYNC_REPORT.kind,
      metadata: { name: pod, namespace },
      status: {
        podUID: metadata.uid,
        crName,
        gateway: pod,
        profile: 'default',
        revision,
        rollout: 4,
        time: minutesAgo(9),
        duration: '412ms',
        ...status,
      },
    },
  });
}
