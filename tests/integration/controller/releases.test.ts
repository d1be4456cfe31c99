import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { RELEASE_LABELS } from '../../../shared/api/names.ts';
import type { SyncRelease } from '../../../shared/api/sync-release.ts';
import { type ApiRequest, KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, createNamespace, kubectl, mergePatch } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { applyGatewaySync, untilCondition, untilGatewaySync, untilStatus } from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

const syncTo = (destination: string) => ({
  profiles: { default: { mappings: [{ source: 'config', destination }] } },
});

const OPEN = { maxFailures: 0 };
const FROZEN = { ...OPEN, windows: [{ kind: 'Deny' }] };

async function arrange(t: TestContext) {
  const { repository, commit } = await serveRepository(t);
  const address = { namespace: await createNamespace(t), name: 'app' };
  const path = gatewaySyncPath(address.namespace, address.name);
  const edit = async (destination: string, rollout: object | undefined) => {
    await applyGatewaySync(address, { repo: repository.url }, { rollout, sync: syncTo(destination) });
    return await callApi<GatewaySync>({ path });
  };
  const stored = async () =>
    (await callApi<{ items: SyncRelease[] }>({ path: syncReleasePath(address.namespace) })).items;
  /** Waits until the releases have these results: name, label, phase, and destination of the files. */
  const untilReleases = (expected: string[]) =>
    until(async () => (await stored()).map(describe).sort(), {
      describe: `releases ${expected.join(', ')}`,
      accept: (found) => isDeepStrictEqual(found, expected.toSorted()),
      timeout: 60_000,
    });
  const release = (name: string) => syncReleasePath(address.namespace, name);
  return { address, path, commit, repository, edit, stored, untilReleases, release };
}

function describe({ metadata, spec, status }: SyncRelease): string {
  const result = metadata.labels?.[RELEASE_LABELS.result] ?? '-';
  const destination = spec.sync.profiles.default?.mappings?.[0]?.destination;
  return `${metadata.name} ${result} ${status?.phase} ${destination}`;
}

suite('releases', { concurrency: 4 }, () => {
  test('are objects with a number, a commit, and its spec.sync, and with their results', async (t) => {
    const { address, commit, edit, stored, untilReleases } = await arrange(t);
    await startController(t, address.namespace);
    const gatewaySync = await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    const [first] = await stored();
    assert.deepEqual(first?.spec, {
      number: 1,
      sources: [{ name: 'main', repo: gatewaySync.spec.git.repo, ref: 'main', commit }],
      sync: gatewaySync.spec.sync,
    });
    await edit('two', FROZEN);
    await untilReleases(['app-1 Complete Complete one', 'app-2 - Waiting two']);
    await edit('three', FROZEN);
    await untilReleases(['app-1 Complete Complete one', 'app-2 - Superseded two', 'app-3 - Waiting three']);
    await edit('three', OPEN);
    await untilReleases(['app-1 Complete Complete one', 'app-2 - Superseded two', 'app-3 Complete Complete three']);
    await kubectl('annotate', 'gsync', 'app', '--namespace', address.namespace, 'sync.io/rollback=app-1');
    await untilReleases(['app-1 Complete Complete one', 'app-2 - Superseded two', 'app-3 Rejected RolledBack three']);
    await untilStatus(address, { rollout: { stableRelease: 'app-1', release: 'app-3' } });
  });

  test('keep approvals that users add right before a result is written', async (t) => {
    const { address, edit, untilReleases, release } = await arrange(t);
    const path = release('app-2');
    const approvals: object[] = [];
    const { request: send } = KubernetesClient.prototype;
    t.mock.method(KubernetesClient.prototype, 'request', async function (this: KubernetesClient, sent: ApiRequest) {
      if (sent.method === 'PATCH' && sent.path.startsWith(path) && approvals.length < 5) {
        approvals.push({ changes: 'none', by: `user ${approvals.length}`, at: '2026-11-22T12:00:00Z' });
        await mergePatch(path, { approvals });
      }
      return await send.call(this, sent);
    });
    await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await edit('two', OPEN);
    await untilReleases(['app-1 Complete Complete one', 'app-2 Complete Complete two']);
    assert.ok(approvals.length > 1);
    assert.deepEqual((await callApi<SyncRelease>({ path })).approvals, approvals);
  });

  test('never change, not even their spec.sync', async (t) => {
    const { address, edit, untilReleases, release } = await arrange(t);
    await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    for (const spec of [{ number: 2 }, { sync: syncTo('evil') }, { sync: { profiles: { default: { more: 1 } } } }])
      await assert.rejects(mergePatch(release('app-1'), { spec }), { status: 422 });
    await untilReleases(['app-1 Complete Complete one']);
  });

  test('get the next free number, and none is used again', slow, async (t) => {
    const { address, edit, untilReleases, release } = await arrange(t);
    const controller = await startController(t, address.namespace);
    const { spec } = await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await controller.stop();
    const planted = { apiVersion: 'sync.io/v1alpha1', kind: 'SyncRelease', metadata: { name: 'app-2' } };
    const sources = [{ name: 'main', repo: spec.git.repo, ref: 'main', commit: 'c'.repeat(40) }];
    const body = { ...planted, spec: { number: 2, sources, sync: syncTo('evil') } };
    await callApi({ method: 'POST', path: syncReleasePath(address.namespace), body });
    await edit('two', OPEN);
    await startController(t, address.namespace);
    await untilStatus(address, { rollout: { phase: 'Complete', release: 'app-3' } });
    await callApi({ method: 'DELETE', path: release('app-3') });
    await untilReleases(['app-1 Complete Complete one', 'app-2 - undefined evil', 'app-4 Complete Complete two']);
  });

  test('lose their labels with spec.rollout, because gateways then follow any commit', slow, async (t) => {
    const { address, edit, untilReleases } = await arrange(t);
    await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await edit('two', undefined);
    await untilReleases(['app-1 - Complete one']);
    await untilGatewaySync(address, 'no rollout', ({ status }) => status?.rollout === undefined);
    await edit('two', OPEN);
    await untilReleases(['app-1 - Complete one', 'app-2 Complete Complete two']);
  });

  test('keep their results if spec.rollout is removed and added again before the rollout is gone', slow, async (t) => {
    const { address, edit, untilReleases } = await arrange(t);
    await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await edit('two', OPEN);
    await untilReleases(['app-1 Complete Complete one', 'app-2 Complete Complete two']);
    const { status } = await untilStatus(address, { rollout: { phase: 'Complete', stableRelease: 'app-2' } });
    await edit('two', undefined);
    const { metadata } = await edit('two', OPEN);
    const after = await untilGatewaySync(
      address,
      'a rollout',
      (found) =>
        found.status?.observedGeneration === metadata.generation && found.status?.rollout?.phase === 'Complete',
    );
    // The controller may have seen the resource without it.
    const isKept = after.status?.rollout?.number === status?.rollout?.number;
    const current = ['app-1 Complete Complete one', 'app-2 Complete Complete two'];
    await untilReleases(isKept ? current : ['app-1 - Complete one', 'app-3 Complete Complete two']);
  });

  test('are at most a few more than the history, however often spec.sync is edited', slow, async (t) => {
    const { address, edit, stored, untilReleases } = await arrange(t);
    await startController(t, address.namespace);
    await edit('one', FROZEN);
    await untilReleases(['app-1 Complete Complete one']);
    const found: number[] = [];
    for (let number = 0; number < 60; number += 1) {
      await edit(`files-${number}`, FROZEN);
      found.push((await stored()).length);
    }
    await untilStatus(address, { rollout: { stableRelease: 'app-1' } });
    assert.ok(Math.max(...found) > 5 && Math.max(...found) <= 20, found.join());
  });

  test('that a rollback needs must exist before a newer rollout begins', slow, async (t) => {
    const { address, edit, release, untilReleases } = await arrange(t);
    const controller = await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await controller.stop();
    await callApi({ method: 'DELETE', path: release('app-1') });
    await edit('two', OPEN);
    await startController(t, address.namespace);
    const held = await untilCondition(address, 'AgentAccess', 'ReleaseGone');
    assert.equal(held.status?.rollout?.phase, 'Complete');
    await edit('one', OPEN);
    await untilReleases(['app-2 Complete Complete one']);
    await edit('three', OPEN);
    await untilStatus(address, { rollout: { phase: 'Complete', stableRelease: 'app-3' } });
  });

  test('make a lost status again', slow, async (t) => {
    const { address, path, edit, untilReleases } = await arrange(t);
    const controller = await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await edit('two', OPEN);
    await untilReleases(['app-1 Complete Complete one', 'app-2 Complete Complete two']);
    await kubectl('annotate', 'gsync', 'app', '--namespace', address.namespace, 'sync.io/rollback=previous');
    await untilReleases(['app-1 Complete Complete one', 'app-2 Rejected RolledBack two']);
    await controller.stop();
    await mergePatch(`${path}/status`, { status: null });
    await startController(t, address.namespace);
    await untilStatus(address, { rollout: { stableRelease: 'app-1', nextRelease: 'app-2', waitsFor: 'Retry' } });
  });

  test('are deleted with their GatewaySync', async (t) => {
    const { address, path, edit, untilReleases } = await arrange(t);
    await startController(t, address.namespace);
    await edit('one', OPEN);
    await untilReleases(['app-1 Complete Complete one']);
    await callApi({ method: 'DELETE', path });
    await untilReleases([]);
  });
});
