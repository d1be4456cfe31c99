import { API_VERSION, SYNC_REPORT } from '../../shared/api/group.ts';
import type { RolloutPreview } from '../../shared/api/rollout.ts';
import type { GatewayPreview } from '../../shared/api/sync-report.ts';
import { shortDigest } from '../../shared/domain/rollout/approvals.ts';
import { planOf, rolloutKey } from '../../shared/domain/rollout/waves.ts';
import { apply } from '../support/cluster.ts';
import { rolloutStatusOf } from '../support/objects.ts';
import { digestFor } from '../support/planned-fleet.ts';
import { gatewaysOf, minutesAgo, NEW, OLD, revision, statusOf, writeResource } from './example-fleet.ts';

const waves = [
  { name: 'canary', gateways: 2, approval: true },
  { name: 'main', gateways: '80%' },
];

/** Changes of the gateways by number; the others are unchanged. */
const PREVIEWS: Record<number, Partial<GatewayPreview>> = {
  3: { failure: `config/limits.json: line 4: {{ .Labels.site }} has no value; add the label to the pod` },
};
const many = Array.from({ length: 6 }, (_, index) => `modify config/lines/line-${index + 1}.json (ContentChanged)`);
for (const number of [1, 2, 4, 5, 7, 9, 12]) PREVIEWS[number] = { digest: digestFor('a'), modified: 31, paths: many };
for (const number of [6, 11])
  PREVIEWS[number] = {
    digest: digestFor(`${number}`),
    added: 1,
    deleted: 1,
    paths: ['add config/site.json (New)', 'delete config/old.json (NoLongerMapped)'],
  };

/** Writes a GatewaySync whose newest commit waits for an approval, with the previews of its gateways. */
export async function writePlannedRelease(
  { namespace, name }: { namespace: string; name: string },
  previews: Record<number, Partial<GatewayPreview>> = PREVIEWS,
): Promise<void> {
  const gateways = gatewaysOf({ namespace, name, count: 24 }).map((gateway) => ({ ...gateway, syncedCommit: OLD }));
  const nothing = { commit: NEW, revision, digest: digestFor('none'), added: 0, modified: 0, deleted: 0 };
  for (const [index, { podName }] of gateways.entries()) {
    const changes = previews[index + 1];
    const status = {
      podUID: 'x',
      crName: name,
      gateway: podName,
      state: 'Synced',
      commit: OLD,
      revision,
      agentVersion: '0.1.0',
      preview: { ...nothing, ...changes },
      ...(!changes && { unchangedAt: NEW }),
    };
    await apply({ apiVersion: API_VERSION, kind: SYNC_REPORT.kind, metadata: { name: podName, namespace }, status });
  }
  const keys = gateways.map((gateway) => rolloutKey(gateway.name, gateway.podName)).sort();
  const counts = { total: 24, reported: 24, unchanged: 14, failing: 1, files: 221 };
  const changed = Object.values(previews).map(({ digest = nothing.digest }) => shortDigest(digest));
  const digests = [...new Set(changed)].sort();
  const changes = digestFor(digests.join()).slice(0, 32);
  const noted = { startedAt: minutesAgo(1), digests, changes };
  const preview: RolloutPreview = { commit: NEW, ref: 'main', revision, ...noted, ...counts };
  const rollout = rolloutStatusOf({
    phase: 'Complete',
    summary: 'complete, next waits for approval',
    message: `commit ${NEW} waits for approval of wave canary`,
    waitsFor: 'Approval',
    commit: OLD,
    nextCommit: NEW,
    nextRevision: revision,
    nextRelease: `${name}-2`,
    revision,
    stableCommit: OLD,
    stableRevision: revision,
    total: 24,
    plan: planOf(waves),
    admission: [
      { wave: 'canary', members: keys[1] ?? '', admitted: 'all' },
      { wave: 'main', members: keys[19] ?? '', admitted: 'all' },
      { wave: 'rest', members: 'all', admitted: 'all' },
    ],
    preview,
  });
  const status = { ...statusOf(gateways, ['Unknown', 'RolloutAwaitingApproval', rollout.message ?? '']), rollout };
  await writeResource({ namespace, name }, { status, spec: { rollout: { waves } } });
}
