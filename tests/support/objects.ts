import * as v from 'valibot';
import { type GatewaySync, type GatewaySyncSpec, gatewaySyncSpecSchema } from '../../shared/api/gateway-sync.ts';
import type { GatewayCounts, GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { API_VERSION, GATEWAY_SYNC, SYNC_REPORT } from '../../shared/api/group.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';

const METADATA: ObjectMeta = {
  namespace: 'gateways',
  name: 'plant',
  uid: 'uid',
  resourceVersion: '1',
  generation: 1,
  creationTimestamp: '2026-01-01T00:00:00Z',
};
/** A spec as users write it. */
export type SpecInput = v.InferInput<typeof gatewaySyncSpecSchema>;

const SPEC: SpecInput = {
  git: { repo: 'https://git.test/app.git', ref: 'main' },
  sync: { profiles: { default: { mappings: [{ source: 'a', destination: 'b' }] } } },
};

interface GatewaySyncParts {
  metadata?: Partial<ObjectMeta>;
  spec?: Partial<SpecInput>;
  status?: GatewaySyncStatus | undefined;
}

/** Makes the spec of a GatewaySync: the schema checks it and adds its defaults. */
export const gatewaySpecOf = (fields: Partial<SpecInput> = {}): GatewaySyncSpec =>
  v.parse(gatewaySyncSpecSchema, { ...SPEC, ...fields });

/** Makes a GatewaySync as the API server returns it. */
export function gatewaySyncOf({ metadata, spec, status }: GatewaySyncParts = {}): GatewaySync {
  return {
    apiVersion: API_VERSION,
    kind: GATEWAY_SYNC.kind,
    metadata: { ...METADATA, ...metadata },
    spec: gatewaySpecOf(spec),
    ...(status && { status }),
  };
}

interface SyncReportParts {
  metadata?: Partial<ObjectMeta>;
  status?: Partial<SyncReportStatus>;
}

/** Makes the report of a pod as the API server returns it. */
export function syncReportOf({ metadata, status }: SyncReportParts = {}): SyncReport {
  return {
    apiVersion: API_VERSION,
    kind: SYNC_REPORT.kind,
    metadata: { ...METADATA, name: 'plant-0', ...metadata },
    status: { state: 'Synced', ...status },
  };
}

/** Makes the counts in a status. If omitted, a number is 0. */
export function gatewayCountsOf(parts: Partial<GatewayCounts> = {}): GatewayCounts {
  const none = { total: 0, synced: 0, pending: 0, error: 0, missingSidecar: 0, paused: 0, dryRun: 0, skewed: 0 };
  return { summary: '', ...none, ...parts };
}

/** Makes the status of a rollout that is complete, and that no wave limits. */
export function rolloutStatusOf(parts: Partial<RolloutStatus> = {}): RolloutStatus {
  const commit = 'c0ffee11'.repeat(5);
  const revision = '1'.repeat(32);
  return {
    number: 1,
    phase: 'Complete',
    summary: '',
    commit,
    ref: 'main',
    revision,
    stableCommit: commit,
    stableRef: 'main',
    stableRevision: revision,
    startedAt: '2026-01-01T00:00:00Z',
    admitted: 0,
    verified: 0,
    failed: 0,
    total: 0,
    plan: '',
    admission: [],
    ...parts,
  };
}
