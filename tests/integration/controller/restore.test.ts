import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { CallError } from '../../../scripts/testbed/call-api.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { RELEASE_LABELS } from '../../../shared/api/names.ts';
import type { ObjectMeta } from '../../../shared/api/object-meta.ts';
import type { SyncRelease } from '../../../shared/api/sync-release.ts';
import { gatewaySyncPath, groupPath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace, mergePatch } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  push,
  request,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

interface BackedUp {
  metadata: ObjectMeta;
  spec?: { sources?: { repo: string }[] };
  status?: unknown;
}

/** Collections that the documented commands restore. */
const pathsIn = ({ namespace }: Address) => [
  groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace),
  gatewaySyncPath(namespace, ''),
  syncReleasePath(namespace, ''),
];

/**
 * Creates an object as Velero does: without its owners and, by default, without its status. One that exists stays as it
 * is: between the two requests about a GatewaySync, the operator can store the same release first.
 */
async function restore(path: string, object: BackedUp, withStatus: boolean): Promise<void> {
  const { name, namespace, annotations = {}, labels = {} } = object.metadata;
  const marks = { 'velero.io/backup-name': 'nightly', 'velero.io/restore-name': 'nightly-1' };
  const metadata = { name, namespace, annotations, labels: { ...labels, ...marks } };
  const { status, ...rest } = object;
  const created = await callApi({ method: 'POST', path, body: { ...rest, metadata } }).catch((error) => {
    if (!(error instanceof CallError) || error.status !== 409) throw error;
  });
  if (!created || status === undefined || !withStatus) return;
  await mergePatch(`${path}/${name}/status`, { status });
}

interface RestoreOptions {
  withStatus: boolean;
  /** Whether the GatewaySync follows its releases. */
  areReleasesFirst: boolean;
}

interface World {
  address: Address;
  /** Commit of the release. */
  v1: string;
  /** The resource, which followed the release v1 when the backup was made. */
  before: GatewaySync;
  /** Makes another backup. */
  backUp: () => Promise<void>;
  /** Deletes all objects of the backup. */
  deleteAll: () => Promise<void>;
  /** Restores all objects of the backup, each with a change. */
  restoreAll: (options: RestoreOptions, change?: (object: BackedUp) => BackedUp) => Promise<void>;
  controller: Awaited<ReturnType<typeof startController>>;
}

/** A namespace of which a backup was made when v1 was complete. */
async function arrange(t: TestContext): Promise<World> {
  const repository = await (await gitServerFor(t)).createRepository('app');
  const v1 = await repository.commit({ files: { 'config/a': '1' } });
  await repository.tag('v1');
  await repository.commit({ files: { 'config/a': '2' } });
  const address = { namespace: await createNamespace(t), name: 'app' };
  const rollout = { windows: [{ kind: 'Deny' }], waves: [{ name: 'all', approval: true }] };
  await applyGatewaySync(address, { repo: repository.url }, { rollout });
  await request(address, 'v1');
  // Later, because the first rollout must be that of v1.
  const controller = await startController(t, address.namespace);
  const before = await untilGatewaySync(address, 'at v1', isAt(v1));
  await until(() => resultsIn(address), {
    describe: 'a complete release',
    accept: (found) => found === 'app-1 Complete',
  });
  const paths = pathsIn(address);
  const read = () => Promise.all(paths.map((path) => callApi<{ items: BackedUp[] }>({ path })));
  let backup = await read();
  const backUp = async () => {
    backup = await read();
  };
  const deleteAll = async () => {
    for (const path of paths) await callApi({ method: 'DELETE', path });
    await until(() => resultsIn(address), { describe: 'no release', accept: (found) => found === '' });
  };
  const restoreAll: World['restoreAll'] = async ({ withStatus, areReleasesFirst }, change = (object) => object) => {
    const order = areReleasesFirst ? [0, 2, 1] : [0, 1, 2];
    for (const index of order)
      for (const item of backup[index]?.items ?? []) await restore(paths[index] ?? '', change(item), withStatus);
  };
  return { address, v1, before, backUp, deleteAll, restoreAll, controller };
}

/** Names and labels of the releases. */
async function resultsIn({ namespace }: Address): Promise<string> {
  const { items } = await callApi<{ items: SyncRelease[] }>({ path: syncReleasePath(namespace) });
  return items.map(({ metadata }) => `${metadata.name} ${metadata.labels?.[RELEASE_LABELS.result]}`).join();
}

/** Accepts a resource that follows a commit, whose agents have their permissions. */
const isAt = (commit: string) => (resource: GatewaySync) =>
  resource.status?.rollout?.stableCommit === commit && condition(resource, 'AgentAccess')?.status === 'True';

suite('a GatewaySync that Velero restores', { concurrency: 2 }, () => {
  for (const withStatus of [true, false])
    for (const areReleasesFirst of [true, false])
      for (const isRunning of [true, false]) {
        // The how-to says that the releases come first then.
        if (isRunning && !withStatus && !areReleasesFirst) continue;
        const when = isRunning ? 'while' : 'before';
        const order = areReleasesFirst ? 'after' : 'before';
        const title = `${withStatus ? 'with' : 'without'} its status, ${order} its releases, ${when} the operator runs`;
        test(title, withStatus || !areReleasesFirst ? slow : {}, async (t) => {
          const { address, v1, before, deleteAll, restoreAll, controller } = await arrange(t);
          if (!isRunning) await controller.stop();
          await deleteAll();
          await restoreAll({ withStatus, areReleasesFirst });
          if (!isRunning) await startController(t, address.namespace);
          if (withStatus) {
            // A push to the branch of the spec is handled, and must not move the gateways.
            await push(address, 'main');
            await untilStatus(address, { lastPush: { outcome: 'Applied' } });
          }
          const { status } = await untilGatewaySync(address, 'at v1', isAt(v1));
          assert.equal(status?.rollout?.stableRelease, 'app-1');
          if (withStatus) assert.deepEqual(status?.target, before.status?.target);
          // The second one is the newest commit, which waits, or v1 again, stored before its restored one arrived.
          assert.match(await resultsIn(address), /^app-1 Complete(,app-2 undefined)?$/);
        });
      }
});

suite('an approval in a backup', { concurrency: 2 }, () => {
  for (const [title, repo, expected] of [
    ['is valid for the same repository', undefined, { nextRelease: 'app-2', waitsFor: 'Window' }],
    [
      'has no effect if its release is of another repository',
      'https://git.example.com/other',
      { nextRelease: 'app-3', waitsFor: 'Approval' },
    ],
  ] as const)
    test(title, async (t) => {
      const { address, backUp, deleteAll, restoreAll, controller } = await arrange(t);
      await request(address, 'main');
      const { status } = await untilStatus(address, { rollout: { nextRelease: 'app-2', waitsFor: 'Approval' } });
      const { changes } = status?.rollout?.preview ?? {};
      const approvals = [{ changes, by: 'anna', at: '2026-11-22T12:00:00Z' }];
      await mergePatch(syncReleasePath(address.namespace, 'app-2'), { approvals });
      await untilStatus(address, { rollout: { nextRelease: 'app-2', waitsFor: 'Window' } });
      await backUp();
      await controller.stop();
      await deleteAll();
      await restoreAll({ withStatus: false, areReleasesFirst: true }, (object) => {
        const [source] = object.metadata.name === 'app-2' ? (object.spec?.sources ?? []) : [];
        if (source && repo) source.repo = repo;
        return object;
      });
      await startController(t, address.namespace);
      await untilStatus(address, { rollout: { stableRelease: 'app-1', ...expected } });
    });
});
