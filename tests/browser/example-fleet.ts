import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, SYNC_REPORT } from '../../shared/api/group.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { shortDigest } from '../../shared/domain/rollout/approvals.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { planOf, rolloutKey } from '../../shared/domain/rollout/waves.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, mergePatch } from '../support/cluster.ts';
import { applyGatewaySync, SYNC } from '../support/gateway-syncs.ts';
import { gatewayCountsOf, gatewaySyncOf, rolloutStatusOf } from '../support/objects.ts';
import { digestFor } from '../support/planned-fleet.ts';
import { writeReleases } from '../support/sync-releases.ts';

export const OLD = '91fd03aac1d2b3e4f5061728394a5b6c7d8e9f00';
export const NEW = '3f2a91bc64d07c1f9f5b1e8a0c52d9b7e6a1f430';
/** The revision of the spec as it is stored, with its defaults. */
export const revision = syncRevision(gatewaySyncOf({ spec: { sync: SYNC } }).spec.sync);

type Gateway = NonNullable<GatewaySyncStatus['discoveredGateways']>[number];

export const minutesAgo = (minutes: number): string => new Date(Date.now() - minutes * 60_000).toISOString();

/** Makes the results of a release that all gateways had, and that they left in a rollback. */
const completed = (minutes: number) =>
  ({ result: 'Complete', status: { phase: 'Complete', completedAt: minutesAgo(minutes) } }) as const;
const rejected = (minutes: number) =>
  ({ result: 'Rejected', status: { phase: 'RolledBack', completedAt: minutesAgo(minutes) } }) as const;

/** Makes the status of a rollout from `OLD` to `NEW`. */
export const releaseOf = (changes: Partial<RolloutStatus>): RolloutStatus =>
  rolloutStatusOf({
    commit: NEW,
    revision,
    stableCommit: OLD,
    stableRef: 'v1.3.0',
    stableRevision: revision,
    ...changes,
  });

/** Writes a GatewaySync and its status as if the controller had already reconciled it. */
export async function writeResource(
  { namespace, name }: { namespace: string; name: string },
  { status, spec = {} }: { status: GatewaySyncStatus; spec?: object },
): Promise<void> {
  await applyGatewaySync({ namespace, name }, { repo: `https://git.example/${name}` }, spec);
  const path = gatewaySyncPath(namespace, name);
  const { metadata } = await callApi<{ metadata: { generation: number } }>({ path });
  await mergePatch(`${path}/status`, { status: { observedGeneration: metadata.generation, ...status } });
}

/** Writes a report as an agent does, for a pod that doesn't exist. */
async function writeReport(namespace: string, name: string, status: Partial<SyncReportStatus>): Promise<void> {
  const metadata = { name, namespace };
  await apply({
    apiVersion: API_VERSION,
    kind: SYNC_REPORT.kind,
    metadata,
    status: { podUID: 'x', state: 'Synced', commit: NEW, revision, ...status },
  });
}

/** Returns gateways named `name-1` and so on; `states` overrides fields of some, by number. */
export function gatewaysOf(
  { namespace, name, count }: { namespace: string; name: string; count: number },
  states: Record<number, Partial<Gateway>> = {},
): Gateway[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `${name}-${index + 1}`,
    podName: `${name}-${index + 1}`,
    namespace,
    profile: 'default',
    syncStatus: 'Synced',
    syncedCommit: NEW,
    lastSyncTime: minutesAgo(9),
    lastSyncDuration: '412ms',
    ...states[index + 1],
  }));
}

/** Returns the part of a status that is derived from the gateways. */
export function statusOf(
  gateways: Gateway[],
  [ready, reason, message]: ['True' | 'False' | 'Unknown', string, string],
): GatewaySyncStatus {
  const count = (status: Gateway['syncStatus']) => gateways.filter(({ syncStatus }) => syncStatus === status).length;
  const counts = {
    total: gateways.length,
    synced: count('Synced'),
    error: count('Error'),
    missingSidecar: count('MissingSidecar'),
    skewed: count('Skewed'),
  };
  return {
    target: { ref: 'main', source: 'Push' },
    lastSyncCommit: NEW,
    lastSyncTime: minutesAgo(9),
    discoveredGateways: gateways,
    gateways: gatewayCountsOf({ ...counts, summary: `${counts.synced}/${counts.total} synced` }),
    conditions: [{ type: 'Ready', status: ready, reason, message, lastTransitionTime: minutesAgo(9) }],
  };
}

/** Writes a GatewaySync of two gateways that were rolled back. Returns the rejected and the current commit. */
export async function writeRolledBack({ namespace, name }: { namespace: string; name: string }) {
  const gateways = gatewaysOf({ namespace, name, count: 2 }).map((gateway) => ({ ...gateway, syncedCommit: OLD }));
  const plan = [{ name: 'canary', gateways: 1 }];
  const [first = ''] = gateways.map((gateway) => rolloutKey(gateway.name, gateway.podName)).sort();
  const message = `the gateways were rolled back to commit ${OLD}; to retry ${NEW.slice(0, 8)}, set sync.io/retry-rollout: ${NEW}, or push a new commit`;
  const rollout = releaseOf({
    number: 5,
    release: `${name}-5`,
    stableRelease: `${name}-4`,
    phase: 'RolledBack',
    summary: 'rolled back',
    message,
    startedAt: minutesAgo(3),
    verified: 2,
    total: 2,
    plan: planOf(plan),
    admission: [
      { wave: 'canary', members: first, admitted: '' },
      { wave: 'rest', members: 'all', admitted: '' },
    ],
  });
  for (const { podName, syncedCommit } of gateways)
    await writeReport(namespace, podName, { commit: syncedCommit, rollout: 5 });
  const status = { ...statusOf(gateways, ['False', 'RolloutRolledBack', message]), rollout };
  await writeResource({ namespace, name }, { status, spec: { rollout: { waves: plan } } });
  await writeReleases({ namespace, name }, [
    { number: 4, commit: OLD, ref: 'v1.3.0', ...completed(90) },
    { number: 5, commit: NEW, ...rejected(9) },
  ]);
  return [NEW, OLD] as const;
}

const waves = [
  { name: 'canary', gateways: 2, soak: '10m' },
  { name: 'early', gateways: '40%', maxConcurrent: 4 },
  { name: 'main', gateways: '90%', approval: true },
];

/** Writes a rollout in the middle of its second wave. */
async function writeRollout(namespace: string, name: string): Promise<void> {
  const gateways = gatewaysOf({ namespace, name, count: 26 });
  const keys = gateways.map((gateway) => rolloutKey(gateway.name, gateway.podName)).sort();
  const upTo = (count: number) => keys[count - 1] ?? '';
  const admitted = 8;
  const counts = { total: 26, reported: 26, unchanged: 5, failing: 0, files: 21 };
  const digest = digestFor('a');
  const noted = { endedAt: minutesAgo(16), digests: [shortDigest(digest)], changes: digest.slice(0, 32) };
  const rollout = releaseOf({
    number: 4,
    release: `${name}-4`,
    stableRelease: `${name}-3`,
    phase: 'Progressing',
    wave: 'early',
    summary: 'early 4/10',
    startedAt: minutesAgo(16),
    admitted,
    verified: 6,
    total: 26,
    preview: { commit: NEW, ref: 'main', revision, startedAt: minutesAgo(16), ...counts, ...noted },
    plan: planOf(waves),
    admission: [
      { wave: 'canary', members: upTo(2), admitted: upTo(2) },
      { wave: 'early', members: upTo(12), admitted: upTo(admitted) },
      { wave: 'main', members: upTo(24), admitted: '' },
      { wave: 'rest', members: 'all', admitted: '' },
    ],
  });
  const keyOf = (gateway: Gateway) => rolloutKey(gateway.name, gateway.podName);
  const isIn = (gateway: Gateway, count: number) => keyOf(gateway) <= upTo(count);
  const placed = gateways.map((gateway) => {
    const index = keys.indexOf(keyOf(gateway));
    if (isIn(gateway, 2)) return { ...gateway, lastSyncTime: minutesAgo(15.97 - index / 300) };
    if (isIn(gateway, 6)) return { ...gateway, lastSyncTime: minutesAgo(4 - index / 200) };
    return { ...gateway, syncedCommit: isIn(gateway, admitted) ? NEW : OLD };
  });
  const preview = { commit: NEW, revision, added: 0, deleted: 0 };
  const limits = {
    ...preview,
    digest,
    modified: 1,
    paths: ['modify config/limits.json (ContentChanged)'],
  };
  const nothing = { ...preview, digest: digestFor('b'), modified: 0, paths: [] };
  for (const gateway of placed) {
    const isUnchanged = isIn(gateway, 24) && !isIn(gateway, 19);
    const isInProgress = isIn(gateway, admitted) && !isIn(gateway, 6);
    await writeReport(namespace, gateway.podName, {
      commit: gateway.syncedCommit ?? OLD,
      rollout: 4,
      verification: isInProgress ? 'Running' : 'Passed',
      ...(!isIn(gateway, admitted) && { preview: isUnchanged ? nothing : limits }),
      ...(isUnchanged && { unchangedAt: NEW }),
      ...(gateway.name === `${name}-4` && {
        changes: ['differs config/limits.json (content)', 'differs config/tags/boiler.csv (content)'],
      }),
    });
  }
  const busy = gateways.filter((gateway) => isIn(gateway, admitted) && !isIn(gateway, 6)).map(({ name }) => name);
  const message = `waiting for ${busy.join(' and ')} in wave early since ${minutesAgo(2).replace(/\.\d+/, '')}`;
  await writeResource(
    { namespace, name },
    {
      spec: { rollout: { waves } },
      status: {
        ...statusOf(placed, ['Unknown', 'RolloutProgressing', message]),
        rollout: { ...rollout, message },
        lastSyncTime: minutesAgo(16),
        lastPush: { ref: 'refs/heads/main', at: minutesAgo(16.02), outcome: 'Applied' },
      },
    },
  );
  await writeReleases({ namespace, name }, [
    { number: 1, commit: '5d20e6f10a9b8c7d6e5f40312213f4e5d6c7b8a9', ref: 'v1.2.8', ...completed(22_300) },
    { number: 2, commit: 'c77ab0193f1e2d3c4b5a69788796a5b4c3d2e1f0', ref: 'v1.2.9', ...completed(11_800) },
    { number: 3, commit: OLD, ref: 'v1.3.0', ...completed(3_100) },
    { number: 4, commit: NEW, status: { phase: 'Progressing' } },
  ]);
}

/** Writes a fleet in which each GatewaySync is in a different state. */
export async function writeExampleFleet(namespace: string): Promise<void> {
  const many = (name: string, count: number, states: Record<number, Partial<Gateway>> = {}) =>
    gatewaysOf({ namespace, name, count }, states);
  const full = {
    syncStatus: 'Error',
    syncedCommit: OLD,
    message: 'the data volume is full (ENOSPC, config/limits.json)',
  } as const;
  const bare = {
    syncStatus: 'MissingSidecar',
    message:
      'the pod was created while injection was not available; delete it so that its replacement gets the sidecar',
  } as const;
  const behind = { syncStatus: 'Skewed', syncedCommit: OLD } as const;
  await Promise.all([
    writeRollout(namespace, 'plant-north'),
    writeResource(
      { namespace, name: 'plant-south' },
      { status: statusOf(many('plant-south', 18), ['True', 'Synced', '18/18 synced']) },
    ),
    writeResource(
      { namespace, name: 'tills' },
      {
        status: statusOf(many('till', 140, { 17: full, 58: full, 121: bare }), [
          ...(['False', 'GatewaysFailed'] as const),
          `137/140 synced; till-17: ${full.message}; till-58: ${full.message}`,
        ]),
      },
    ),
    writeResource(
      { namespace, name: 'kiosks' },
      {
        spec: { paused: true },
        status: statusOf(many('kiosk', 12), ['Unknown', 'Paused', 'the resource is paused']),
      },
    ),
    writeResource(
      { namespace, name: 'turbines' },
      {
        status: {
          ...statusOf(many('turbine', 44), ['True', 'Synced', '44/44 synced']),
          target: { ref: 'v2.8.1', source: 'Request' },
        },
      },
    ),
    writeResource(
      { namespace, name: 'laboratory' },
      {
        status: statusOf(many('bench', 6, { 2: behind, 5: behind }), ['Unknown', 'Syncing', '4/6 synced']),
      },
    ),
  ]);
}
