import { type ObservedGatewaySync, projectSpec } from '../../../../controller/watch/observed-gateway-sync.ts';
import type { GatewaySyncSpec } from '../../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../../shared/api/gateway-sync-status.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

export const commit = 'a'.repeat(40);

/** A resource with a commit status; `git` overrides its fields. */
export function resource(git: Partial<GatewaySyncSpec['git']> = {}, more: object = {}): ObservedGatewaySync {
  const commitStatus = { context: '{{ .Cluster }}/{{ .Namespace }}/{{ .Name }}', secretRef: { name: 's', key: 'k' } };
  const repo = 'https://github.com/plant/config.git';
  const spec = gatewaySpecOf({ git: { repo, ref: 'main', commitStatus, ...git }, ...more });
  return {
    namespace: 'gateways',
    name: 'plant',
    uid: 'u',
    generation: 3,
    resourceVersion: '1',
    createdAt: 0,
    deleting: false,
    spec: projectSpec(spec),
    status: {},
  };
}

/** A status of this number of gateways, about the resource above. */
export function statusOf(
  counts: { total: number; synced?: number; error?: number; missingSidecar?: number; paused?: number; dryRun?: number },
  { words = 'gateway-3: the data volume is full', ...fields }: GatewaySyncStatus & { words?: string } = {},
): GatewaySyncStatus {
  const all = { synced: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, ...counts };
  const summary = `${all.synced}/${all.total} synced`;
  const verdict = () => {
    if (all.total === 0) return { status: 'Unknown', reason: 'NoGateways', message: '' } as const;
    if (all.error > 0) return { status: 'False', reason: 'GatewaysFailed', message: `${summary}; ${words}` } as const;
    if (all.missingSidecar > 0) return { status: 'False', reason: 'MissingSidecar', message: summary } as const;
    const isSyncing = all.synced + all.paused + all.dryRun < all.total;
    if (isSyncing) return { status: 'False', reason: 'Syncing', message: summary } as const;
    return { status: 'True', reason: 'Synced', message: summary } as const;
  };
  const { status, reason, message } = verdict();
  const lastTransitionTime = '2026-01-01T00:00:00Z';
  return {
    observedGeneration: 3,
    observedRepo: 'https://github.com/plant/config.git',
    lastSyncCommit: commit,
    gateways: { ...all, pending: 0, skewed: 0, summary },
    conditions: [
      { type: 'ProfilesValid', status: 'True', reason: 'Valid', message: '', lastTransitionTime },
      { type: 'AllGatewaysSynced', status: status as 'True', reason, message, lastTransitionTime },
      {
        type: 'SidecarInjected',
        status: 'False',
        reason: 'MissingSidecar',
        message: 'delete them',
        lastTransitionTime,
      },
    ],
    ...fields,
  };
}
