import type { TestContext } from 'node:test';
import type { SyncRelease } from '../../../shared/api/sync-release.ts';
import { shortDigest } from '../../../shared/domain/rollout/approvals.ts';
import { syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { gatewaySyncPath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace } from '../../support/cluster.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, patchStatus } from '../../support/gateway-syncs.ts';
import { gatewayCountsOf, rolloutStatusOf } from '../../support/objects.ts';
import { digestFor } from '../../support/planned-fleet.ts';
import { writeReleases } from '../../support/sync-releases.ts';

export const OLD = 'a'.repeat(40);
export const NEW = 'b'.repeat(40);
/** Hash of the changes of the gateway. */
export const CHANGES = digestFor('one').slice(0, 32);
const waves = [{ name: 'canary', approval: true }, { name: 'west', approval: true }, { name: 'last' }];

/** A release that waits for an approval of the changes of one gateway, without a controller. */
export async function writeReleaseToApprove(t: TestContext) {
  const namespace = await createNamespace(t);
  const address = { namespace, name: 'app' };
  await applyGatewaySync(address, { repo: 'https://git.example/x' }, { rollout: { waves } });
  const { spec } = await callApi<SyncRelease>({ path: gatewaySyncPath(namespace, 'app') });
  const revision = syncRevision(spec.sync);
  await writeReleases(address, [{ number: 2, commit: NEW }]);
  const release = { commit: NEW, ref: 'main', revision, release: 'app-2' };
  const time = new Date().toISOString();
  /** Writes the status as the controller does when it has noted these changes. */
  const note = (files: string[], changes: string) =>
    patchStatus(address, {
      gateways: gatewayCountsOf({ total: 1 }),
      rollout: {
        ...rolloutStatusOf({ ...release, phase: 'AwaitingApproval', stableCommit: OLD, stableRevision: revision }),
        preview: {
          ...release,
          startedAt: time,
          endedAt: time,
          total: 1,
          reported: 1,
          unchanged: 0,
          failing: 0,
          files: 1,
          digests: files.map((file) => shortDigest(digestFor(file))).sort(),
          changes,
        },
      },
    });
  /** Writes the report of the gateway as its agent does when it would delete this file. */
  const reportChange = (file: string) => {
    const changes = { digest: digestFor(file), added: 0, modified: 0, deleted: 1, paths: [`delete ${file}`] };
    const preview = { commit: NEW, revision, ...changes };
    const status = { crName: 'app', gateway: 'till-1', commit: OLD, revision, agentVersion: '0.1.0', preview };
    return report({ namespace, name: 'till-1' }, status);
  };
  await note(['one'], CHANGES);
  await apply(injectedPod(namespace, 'till-1', 'app'));
  await reportChange('one');
  const readRelease = () => callApi<SyncRelease>({ path: syncReleasePath(namespace, 'app-2') });
  const approvals = async () =>
    ((await readRelease()).approvals ?? []).map(({ by, wave, changes }) => [by, wave, changes]);
  return { namespace, address, note, reportChange, readRelease, approvals };
}
