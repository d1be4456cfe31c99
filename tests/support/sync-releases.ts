import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_RELEASE } from '../../shared/api/group.ts';
import { RELEASE_LABELS } from '../../shared/api/names.ts';
import type { ReleaseResult, SyncReleaseStatus } from '../../shared/api/sync-release.ts';
import { releaseName } from '../../shared/domain/rollout/release-name.ts';
import { gatewaySyncPath, syncReleasePath } from '../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, mergePatch } from './cluster.ts';
import type { Address } from './gateway-syncs.ts';

/** A release to store. */
interface NewRelease {
  number: number;
  commit: string;
  ref?: string;
  result?: ReleaseResult;
  status?: SyncReleaseStatus;
}

/** Stores releases of a GatewaySync with its present `spec.sync`, as the controller does. */
export async function writeReleases({ namespace, name }: Address, releases: readonly NewRelease[]): Promise<void> {
  const { spec } = await callApi<GatewaySync>({ path: gatewaySyncPath(namespace, name) });
  for (const { number, commit, ref = 'main', result, status } of releases) {
    const labels = { [RELEASE_LABELS.crName]: name, ...(result && { [RELEASE_LABELS.result]: result }) };
    await apply({
      apiVersion: API_VERSION,
      kind: SYNC_RELEASE.kind,
      metadata: { namespace, name: releaseName(name, number), labels },
      spec: { number, sources: [{ name: 'main', repo: spec.git.repo, ref, commit }], sync: spec.sync },
    });
    if (status) await mergePatch(`${syncReleasePath(namespace, releaseName(name, number))}/status`, { status });
  }
}
