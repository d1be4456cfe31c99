import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { ObjectMeta } from '../../../shared/api/object-meta.ts';
import { gatewaySyncPath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace } from '../../support/cluster.ts';
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

interface BackedUp {
  metadata: ObjectMeta;
  status?: unknown;
}

/** Collections that the documented commands restore, in the order of Velero; the last one only without the exclusions. */
const pathsIn = ({ namespace }: Address) => [
  groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace),
  gatewaySyncPath(namespace, ''),
  groupPath('apps/v1', 'controllerrevisions', namespace),
];

/** Creates an object as Velero does: without its owners and its status, which is written afterwards. */
async function restore(path: string, object: BackedUp): Promise<void> {
  const { name, namespace, annotations = {}, labels = {} } = object.metadata;
  const marks = { 'velero.io/backup-name': 'nightly', 'velero.io/restore-name': 'nightly-1' };
  const metadata = { name, namespace, annotations, labels: { ...labels, ...marks } };
  const { status, ...rest } = object;
  const created = await callApi<BackedUp>({ method: 'POST', path, body: { ...rest, metadata } });
  if (status === undefined) return;
  await callApi({ method: 'PUT', path: `${path}/${name}/status`, body: { ...created, status } });
}

interface World {
  address: Address;
  /** Commit of the release. */
  v1: string;
  /** The resource, which followed the release v1 when the backup was made. */
  before: GatewaySync;
  /** Restores all objects of the backup. */
  restoreAll: (options?: { withRevisions: boolean }) => Promise<void>;
}

/** A namespace in which all objects were backed up and deleted, and no controller runs. */
async function arrange(t: TestContext): Promise<World> {
  const repository = await (await gitServerFor(t)).createRepository('app');
  const v1 = await repository.commit({ files: { 'config/a': '1' } });
  await repository.tag('v1');
  await repository.commit({ files: { 'config/a': '2' } });
  const address = { namespace: await createNamespace(t), name: 'app' };
  await applyGatewaySync(address, { repo: repository.url }, { rollout: {} });
  await request(address, 'v1');
  // Later, because the first rollout must be that of v1.
  const controller = await startController(t, address.namespace);
  const before = await untilGatewaySync(address, 'at v1', isAt(v1));
  const paths = pathsIn(address);
  const backup = await Promise.all(paths.map((path) => callApi<{ items: BackedUp[] }>({ path })));
  await controller.stop();
  for (const path of paths) await callApi({ method: 'DELETE', path });
  const restoreAll: World['restoreAll'] = async ({ withRevisions } = { withRevisions: false }) => {
    for (const [index, { items }] of backup.slice(0, withRevisions ? undefined : -1).entries())
      for (const item of items) await restore(paths[index] ?? '', item);
  };
  return { address, v1, before, restoreAll };
}

/** Accepts a resource that follows a commit, whose agents have their permissions. */
const isAt = (commit: string) => (resource: GatewaySync) =>
  resource.status?.lastSyncCommit === commit && condition(resource, 'AgentAccess')?.status === 'True';

suite('a GatewaySync that Velero restores', { concurrency: 2 }, () => {
  test('with its status before the operator runs keeps its release and its history', async (t) => {
    const { address, v1, before, restoreAll } = await arrange(t);
    await restoreAll();
    await startController(t, address.namespace);
    // A push to the branch of the spec is handled, and must not move the gateways.
    await push(address, 'main');
    await untilStatus(address, { lastPush: { outcome: 'Applied' } });
    const { status } = await untilGatewaySync(address, 'at v1', isAt(v1));
    assert.deepEqual(
      [status?.target, status?.history, status?.rollout?.stableCommit],
      [before.status?.target, before.status?.history, v1],
    );
  });

  test('together with its ControllerRevision is blocked until this is deleted', slow, async (t) => {
    const { address, v1, restoreAll } = await arrange(t);
    await restoreAll({ withRevisions: true });
    await startController(t, address.namespace);
    const hasReason = (reason: string) => (resource: GatewaySync) =>
      condition(resource, 'AgentAccess')?.reason === reason;
    await untilGatewaySync(address, 'blocked', hasReason('RevisionNotWritten'));
    await callApi({ method: 'DELETE', path: groupPath('apps/v1', 'controllerrevisions', address.namespace) });
    await untilGatewaySync(address, 'at v1', isAt(v1));
  });
});
