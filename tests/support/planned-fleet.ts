import { createHash } from 'node:crypto';
import type { Beyond } from '../../cli/fleet/beyond.ts';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import type { GatewayPreview, SyncReport, SyncReportStatus } from '../../shared/api/sync-report.ts';
import { shortDigest } from '../../shared/domain/rollout/approvals.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { planOf } from '../../shared/domain/rollout/waves.ts';
import { gatewayCountsOf, gatewaySyncOf, rolloutStatusOf, type SpecInput, syncReportOf } from './objects.ts';

export const OLD = 'a'.repeat(40);
export const NEW = 'b'.repeat(40);

const WAVES = [{ name: 'canary', selector: { matchLabels: { tier: 'canary' } } }, { name: 'shops' }];

/** A gateway of a fleet that previews a commit; without a report if it is undefined. */
export interface PreviewingGateway {
  name: string;
  report?: Partial<SyncReportStatus>;
  /** Fields of the preview in the report. */
  preview?: Partial<GatewayPreview>;
  state?: DiscoveredGateway['syncStatus'];
  labels?: Record<string, string>;
}

/** Makes a resource with a rollout that waits for an approval of `NEW`. */
export function planned(
  gateways: readonly PreviewingGateway[],
  {
    spec = {},
    rollout = {},
    preview = {},
  }: {
    spec?: Partial<SpecInput>;
    rollout?: Partial<RolloutStatus>;
    preview?: Partial<RolloutPreview>;
  } = {},
): {
  gatewaySync: GatewaySync;
  beyond: { reports: SyncReport[]; pods: NonNullable<Beyond['pods']> };
  preview: RolloutPreview;
} {
  const base = gatewaySyncOf({ spec: { rollout: { waves: WAVES }, ...spec } });
  const revision = syncRevision(base.spec.sync);
  const whole: RolloutPreview = {
    commit: NEW,
    ref: 'main',
    revision,
    startedAt: '2026-01-01T00:00:00Z',
    total: gateways.length,
    reported: gateways.length,
    unchanged: 0,
    failing: 0,
    files: 0,
    ...changesOf(gateways, revision),
    ...preview,
  };
  const status = {
    lastSyncCommit: NEW,
    gateways: gatewayCountsOf({ total: gateways.length }),
    discoveredGateways: gateways.slice(0, 200).map(({ name, state = 'Synced' }) => gatewayOf(name, state)),
    rollout: rolloutStatusOf({
      phase: 'AwaitingApproval',
      wave: 'canary',
      commit: OLD,
      nextCommit: NEW,
      nextRelease: 'plant-2',
      nextRevision: revision,
      revision,
      stableCommit: OLD,
      stableRevision: revision,
      plan: planOf(base.spec.rollout?.waves ?? []),
      admission: ['canary', 'shops', 'rest'].map((wave) => ({ wave, members: 'all', admitted: '' })),
      preview: whole,
      ...rollout,
    }),
  };
  const reports = gateways.flatMap((gateway) => (gateway.report ? [reportOf(gateway, revision)] : []));
  const pods = gateways.map(({ name, labels = {} }) => ({
    metadata: {
      name,
      namespace: 'gateways',
      uid: 'u',
      labels,
      annotations: { 'sync.io/cr-name': 'plant', 'sync.io/inject': 'true' },
    },
  }));
  return { gatewaySync: { ...base, status }, beyond: { reports, pods }, preview: whole };
}

/** Returns the changes as the controller notes them in the status, and a hash of them. */
function changesOf(gateways: readonly PreviewingGateway[], revision: string) {
  const changed = gateways.filter(({ report, preview }) => report && preview && report.unchangedAt !== NEW);
  const noted = changed.map((gateway) => shortDigest(reportOf(gateway, revision).status?.preview?.digest ?? ''));
  const digests = [...new Set(noted)].sort();
  return { digests, changes: digestFor(digests.join()).slice(0, 32) };
}

const gatewayOf = (name: string, syncStatus: DiscoveredGateway['syncStatus']): DiscoveredGateway => ({
  name,
  namespace: 'gateways',
  podName: name,
  syncStatus,
});

/** Returns a digest as agents report it, unless the text has the length of one. */
export const digestFor = (text: string): string =>
  text.length === 64 ? text : createHash('sha256').update(text).digest('hex');

function reportOf({ name, report, preview }: PreviewingGateway, revision: string): SyncReport {
  const changes = { commit: NEW, revision, digest: 'none', added: 0, modified: 0, deleted: 0, paths: [] };
  return syncReportOf({
    metadata: { name },
    status: {
      podUID: 'u',
      gateway: name,
      crName: 'plant',
      commit: OLD,
      revision,
      agentVersion: '0.1.0',
      ...(preview && { preview: { ...changes, ...preview, digest: digestFor(preview.digest ?? changes.digest) } }),
      ...report,
    },
  });
}

/** A gateway that would change these files. */
export const changing = (
  name: string,
  paths: readonly string[],
  labels: Record<string, string> = {},
  preview: Partial<GatewayPreview> = {},
): PreviewingGateway => ({
  name,
  labels,
  report: {},
  preview: { digest: paths.join(), modified: paths.length, paths: [...paths], ...preview },
});

/** A gateway to which the commit cannot be delivered. */
export const failing = (name: string, failure: string): PreviewingGateway => ({
  name,
  report: {},
  preview: { failure },
});

/** A gateway whose files stay the same. */
export const unchanged = (name: string): PreviewingGateway => ({ name, report: { unchangedAt: NEW }, preview: {} });
