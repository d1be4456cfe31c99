import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { ObjectMeta } from '../../../shared/api/object-meta.ts';
import { revisionName, syncRevision } from '../../../shared/domain/rollout/sync-revision.ts';
import { gatewaySyncPath, groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, untilCondition, untilGatewaySync, untilStatus } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

interface ControllerRevision {
  metadata: ObjectMeta;
  data: { sync: unknown };
}

const syncTo = (destination: string) => ({
  profiles: { default: { mappings: [{ source: 'config', destination }] } },
});

async function arrange(t: TestContext) {
  const { repository } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  const path = groupPath('apps/v1', 'controllerrevisions', address.namespace);
  const edit = async (destination: string, rollout: object | undefined) => {
    await applyGatewaySync(address, { repo: repository.url }, { rollout, sync: syncTo(destination) });
    return await callApi<GatewaySync>({ path: gatewaySyncPath(address.namespace, address.name) });
  };
  const revisions = async () => (await callApi<{ items: ControllerRevision[] }>({ path })).items;
  const names = async () => (await revisions()).map(({ metadata }) => metadata.name).sort();
  const untilNames = (expected: string[]) =>
    until(names, {
      describe: `revisions ${expected.join(', ')}`,
      accept: (found) => isDeepStrictEqual(found, expected.toSorted()),
      timeout: 60_000,
    });
  return { address, path, edit, revisions, untilNames };
}

const nameOf = ({ metadata, spec }: GatewaySync) => revisionName(metadata.name, syncRevision(spec.sync));

suite('revisions of spec.sync', { concurrency: 4 }, () => {
  test('are repaired if another object was planted under their name', async (t) => {
    const { address, path, edit, revisions } = await arrange(t);
    const gatewaySync = await edit('config', {});
    const { name, uid } = gatewaySync.metadata;
    const owner = { apiVersion: 'sync.io/v1alpha1', kind: 'GatewaySync', name, uid, controller: true };
    const metadata = { name: nameOf(gatewaySync), ownerReferences: [owner] };
    const planted = { apiVersion: 'apps/v1', kind: 'ControllerRevision', metadata, data: { sync: syncTo('evil') } };
    await callApi({ method: 'POST', path, body: { ...planted, revision: 1 } });
    await startController(t, address.namespace);
    await untilGatewaySync(address, 'a rollout', ({ status }) => status?.rollout !== undefined);
    const stored = (await revisions()).map(({ metadata, data }) => [metadata.name, data.sync]);
    assert.deepEqual(stored, [[nameOf(gatewaySync), gatewaySync.spec.sync]]);
  });

  test('are removed with spec.rollout, however often it is added and removed', slow, async (t) => {
    const { address, edit, untilNames } = await arrange(t);
    await startController(t, address.namespace);
    for (const destination of ['one', 'two', 'three']) {
      const gatewaySync = await edit(destination, {});
      await untilStatus(address, { rollout: { stableRevision: syncRevision(gatewaySync.spec.sync) } });
      await untilNames([nameOf(gatewaySync)]);
      await edit(destination, undefined);
      await untilNames([]);
    }
  });

  test('that a rollback needs must exist before a newer rollout begins', slow, async (t) => {
    const { address, path, edit } = await arrange(t);
    const controller = await startController(t, address.namespace);
    const first = await edit('one', {});
    await untilStatus(address, { rollout: { phase: 'Complete' } });
    await controller.stop();
    await callApi({ method: 'DELETE', path: `${path}/${nameOf(first)}` });
    await edit('two', {});
    await startController(t, address.namespace);
    const held = await untilCondition(address, 'AgentAccess', 'RevisionGone');
    assert.equal(held.status?.rollout?.revision, syncRevision(first.spec.sync));
    await edit('one', {});
    await untilCondition(address, 'AgentAccess', 'True');
    const third = await edit('three', {});
    await untilStatus(address, { rollout: { stableRevision: syncRevision(third.spec.sync) } });
  });

  test('that waited are removed when another one waits, even by another leader', slow, async (t) => {
    const { address, edit, untilNames } = await arrange(t);
    const controller = await startController(t, address.namespace);
    const first = await edit('one', {});
    await untilStatus(address, { rollout: { phase: 'Complete' } });
    const frozen = { windows: [{ kind: 'Deny' }] };
    const second = await edit('two', frozen);
    await untilGatewaySync(address, 'a release that waits', ({ status }) => status?.rollout?.nextCommit !== undefined);
    await untilNames([nameOf(first), nameOf(second)]);
    await controller.stop();
    const third = await edit('three', frozen);
    await startController(t, address.namespace);
    await untilNames([nameOf(first), nameOf(third)]);
  });
});
