import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { connect } from '../../../cli/client/connect.ts';
import { listReleases } from '../../../cli/client/read.ts';
import { carryOut } from '../../../cli/orders/carry-out.ts';
import { agreementOf, type EffectOf } from '../../../cli/orders/order-effect.ts';
import { effectOfRollback } from '../../../cli/orders/rollback.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { SyncRelease } from '../../../shared/api/sync-release.ts';
import type { ApiRequest } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, connectCluster, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import {
  type Address,
  applyGatewaySync,
  patchResource,
  patchStatus,
  request,
  untilGatewaySync,
} from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { runCli } from '../../support/run-cli.ts';
import { startController } from '../../support/start-controller.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { until } from '../../support/until.ts';
import { viewerOf } from '../../support/viewer-of.ts';

const read = ({ namespace, name }: Address): Promise<GatewaySync> =>
  callApi({ path: gatewaySyncPath(namespace, name) });

type Host = NonNullable<Parameters<typeof runCli>[1]>;

/** A resource with a real controller and without gateways, so that each wave is done as soon as it can start. */
async function arrange(t: TestContext, waves: object[] = []) {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const commits = [await repository.commit({ files: { 'config/a': '1' } })];
  const address = { namespace: await createNamespace(t), name: 'app' };
  const controller = await startController(t, address.namespace);
  await applyGatewaySync(address, { repo: repository.url }, { rollout: { waves, previewTimeout: '0s' } });
  const untilPhase = (phase: string, commit?: string) =>
    untilGatewaySync(
      address,
      `${phase} of ${commit}`,
      ({ status }) => status?.rollout?.phase === phase && (!commit || status.rollout.commit === commit),
    );
  await untilPhase('Complete', commits[0]);
  const push = async () => {
    const commit = await repository.commit({ files: { 'config/a': `${commits.length + 1}` } });
    commits.push(commit);
    await request(address, commit);
    return commit;
  };
  return { address, commits, controller, push, untilPhase, stoker: await stokerIn(address.namespace) };
}

const consenting: Host = { confirm: async () => true };

suite('the commands of kubectl stoker', { concurrency: 4 }, () => {
  test('approve, roll back, roll back further, and retry, each after a confirmation', slow, async (t) => {
    const { address, commits, push, untilPhase, stoker } = await arrange(t, [{ name: 'canary', approval: true }]);
    const [first = ''] = commits;
    const second = await push();
    await untilGatewaySync(address, 'a commit that waits', ({ status }) => status?.rollout?.nextCommit === second);

    const approved = await stoker(['approve', 'app', '--commit', second], consenting);
    assert.equal(approved.status, 0, approved.notes);
    await untilPhase('Complete', second);

    const row = (number: number, commit: string) => `${number} +Complete .* ${commit.slice(0, 8)} .* ago`;
    const lists = new RegExp(`^NUMBER .*\n${row(2, second)} +admin +current\n${row(1, first)} *\n$`);
    const isListed = ({ output }: { output: string }) => lists.test(output);
    await until(() => stoker(['history', 'app']), { describe: 'both results', accept: isListed });
    const { items } = JSON.parse((await stoker(['history', 'app', '-o', 'json'])).output);
    const expected = [
      { number: 2, name: 'app-2', commit: second, canGoBack: false },
      { number: 1, name: 'app-1', commit: first, canGoBack: true },
    ];
    assert.partialDeepStrictEqual(items, expected);

    const back = await stoker(['rollback', 'app'], consenting);
    assert.equal(back.status, 0, back.notes);
    assert.equal((await untilPhase('RolledBack', second)).status?.rollout?.stableCommit, first);

    const again = await stoker(['retry', 'app'], consenting);
    assert.equal(again.status, 0, again.notes);
    await untilPhase('Complete', second);

    const third = await push();
    await untilGatewaySync(address, 'a third', ({ status }) => status?.rollout?.nextCommit === third);
    assert.equal((await stoker(['approve', 'app', '--yes'])).status, 0);
    await untilPhase('Complete', third);
    // The annotation of the first time still exists, but the same command is handled again.
    const once = await stoker(['rollback', 'app'], consenting);
    assert.equal(once.status, 0, once.notes);
    assert.equal((await untilPhase('RolledBack', third)).status?.rollout?.stableCommit, second);
  });

  test('pause and resume, but change nothing without a confirmation, or if that is already done', async (t) => {
    const { address, stoker } = await arrange(t);
    const { resourceVersion } = (await read(address)).metadata;
    assert.equal((await stoker(['pause', 'app'])).status, 64, 'without a terminal to confirm on');
    assert.equal((await stoker(['pause', 'app'], { confirm: async () => false })).status, 1);
    assert.equal((await read(address)).metadata.resourceVersion, resourceVersion);
    assert.equal((await stoker(['pause', 'app', '--yes'])).status, 0);
    await untilGatewaySync(address, 'a pause', ({ spec }) => spec.paused);
    assert.match((await stoker(['pause', 'app', '--yes'])).notes, /is already paused/);
    const shown = await stoker(['status', 'app']);
    assert.match(shown.output, /‖ .* kubectl stoker resume/);
    assert.equal((await stoker(['resume', 'app', '-y'])).status, 0);
    await untilGatewaySync(address, 'no pause', ({ spec }) => !spec.paused);
  });

  test(
    'do what they announced, even if the status changes, or nothing if that would now be something else',
    slow,
    async (t) => {
      const { address, commits, push, untilPhase, stoker } = await arrange(t);
      const [first = ''] = commits;
      const second = await push();
      await untilPhase('Complete', second);
      let third = '';
      const busy: Host = {
        confirm: async () => {
          third = await push();
          await untilPhase('Complete', third);
          return true;
        },
      };
      const refused = await stoker(['rollback', 'app'], busy);
      assert.equal(refused.status, 1);
      assert.match(refused.notes, new RegExp(`: .* release 3 \\(${third.slice(0, 8)}\\)`));
      const reported = await read(address);
      assert.equal(reported.metadata.annotations?.['sync.io/rollback'], undefined);
      const noisy: Host = {
        confirm: async () => {
          await patchResource(address, { metadata: { labels: { noise: 'yes' } } });
          return true;
        },
      };
      const done = await stoker(['rollback', 'app', '--to', '1'], noisy);
      assert.equal(done.status, 0, done.notes);
      assert.equal((await untilPhase('RolledBack', third)).status?.rollout?.stableCommit, first);
    },
  );

  test('approve only the release that was shown, even if spec.sync is edited in the meantime', slow, async (t) => {
    const { address, push, stoker } = await arrange(t, [{ name: 'canary', approval: true }]);
    const second = await push();
    const untilNext = (release: string) =>
      untilGatewaySync(address, release, ({ status }) => status?.rollout?.nextRelease === release);
    await untilNext('app-2');
    const mappings = [{ source: 'config', destination: 'elsewhere' }];
    const editing: Host = {
      confirm: async () => {
        await patchResource(address, { spec: { sync: { profiles: { default: { mappings } } } } });
        await untilNext('app-3');
        return true;
      },
    };
    const refused = await stoker(['approve', 'app', '--commit', second], editing);
    assert.equal(refused.status, 1, refused.notes);
    assert.match(refused.notes, /: app-3 /);
    const approvalsOf = async (release: string) =>
      (await callApi<SyncRelease>({ path: syncReleasePath(address.namespace, release) })).approvals;
    assert.deepEqual([await approvalsOf('app-2'), await approvalsOf('app-3')], [undefined, undefined]);
  });

  test('never revoke a command that another user gave a moment ago', slow, async (t) => {
    const { address, controller, push, untilPhase } = await arrange(t);
    await untilPhase('Complete', await push());
    await controller.stop();
    const annotate = (value: string | null) =>
      patchResource(address, { metadata: { annotations: { 'sync.io/rollback': value } } });
    await annotate('previous');
    await patchStatus(address, { rollout: { handled: { rollback: 'previous' } } });
    const { kubeconfig } = await connectCluster();
    const access = connect({ kubeconfig, namespace: address.namespace }, {});
    t.after(() => access.client.close());
    const effectOf: EffectOf = (gatewaySync, beyond) =>
      effectOfRollback(gatewaySync, { to: 'previous', releases: beyond?.releases });
    const listed = async () => ({ releases: await listReleases(access, address.name) });
    const effect = effectOf(await read(address), await listed());
    assert.ok(effect.kind === 'change' && effect.before);
    const request = access.client.request.bind(access.client);
    let isFirst = true;
    access.client.request = async <T>(call: ApiRequest): Promise<T> => {
      if (call.method === 'PATCH' && isFirst) {
        isFirst = false;
        // Another user is faster with the same command: the annotation is removed, the controller sees that, and it is
        // set again.
        await annotate(null);
        await patchStatus(address, { rollout: { handled: { rollback: null } } });
        await annotate('previous');
      }
      return request<T>(call);
    };
    const order = carryOut(access, { name: address.name, effectOf, read: listed, agreed: agreementOf(effect) });
    await assert.rejects(order, { code: 'ResourceChanged' });
    assert.equal((await read(address)).metadata.annotations?.['sync.io/rollback'], 'previous');
  });

  test('are refused with a message to users with read access only', slow, async (t) => {
    const { address, push, untilPhase } = await arrange(t);
    await untilPhase('Complete', await push());
    const viewer = await viewerOf(address.namespace, ['syncreleases']);
    const { resourceVersion } = (await read(address)).metadata;
    for (const verb of ['pause', 'rollback']) {
      const { status, notes } = await runCli([verb, 'app', '--yes', '--kubeconfig', viewer]);
      assert.equal(status, 3, notes);
      assert.match(notes, /\nerror: .* GatewaySyncs in the namespace test-\w+: .* role edit /);
    }
    assert.equal((await read(address)).metadata.resourceVersion, resourceVersion);
    const outsider = await viewerOf(address.namespace);
    for (const verb of ['history', 'rollback']) {
      const { status, notes } = await runCli([verb, 'app', '--kubeconfig', outsider]);
      assert.equal(status, 3, notes);
      assert.match(notes, /error: .* SyncReleases .*: .* role view /);
    }
  });
});
