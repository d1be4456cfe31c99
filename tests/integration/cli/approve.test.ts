import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { connect } from '../../../cli/client/connect.ts';
import { getRelease } from '../../../cli/client/read.ts';
import { effectOfApproval } from '../../../cli/orders/approve.ts';
import { carryOut } from '../../../cli/orders/carry-out.ts';
import { agreementOf, type EffectOf } from '../../../cli/orders/order-effect.ts';
import { RELEASE_LABELS } from '../../../shared/api/names.ts';
import { storedReleaseOf } from '../../../shared/domain/rollout/stored-release.ts';
import type { ApiRequest } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi, connectCluster, mergePatch } from '../../support/cluster.ts';
import { permit } from '../../support/permit.ts';
import { digestFor } from '../../support/planned-fleet.ts';
import type { runCli } from '../../support/run-cli.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { writeReleases } from '../../support/sync-releases.ts';
import { CHANGES, NEW, OLD, writeReleaseToApprove } from './release-to-approve.ts';

type Host = NonNullable<Parameters<typeof runCli>[1]>;

async function arrange(t: TestContext) {
  const world = await writeReleaseToApprove(t);
  const stoker = await stokerIn(world.namespace);
  const approve = (args: string[] = [], host: Host = { confirm: async () => true }) =>
    stoker(['approve', 'app', ...args], host);
  /** Approves after a confirmation, before which something else happens. */
  const approveAfter = (happens: () => Promise<unknown>) =>
    approve([], {
      confirm: async () => {
        await happens();
        return true;
      },
    });
  return { ...world, stoker, approve, approveAfter };
}

suite('kubectl stoker approve', { concurrency: 4 }, () => {
  test('stores who approved which changes, and when; the history shows it', async (t) => {
    const { namespace, approve, readRelease, approvals, stoker } = await arrange(t);
    await permit(namespace, { can: 'approve', users: ['alice', 'bob'] });
    const before = Date.now();
    const first = await approve(['--as', 'alice', '--wave', 'west']);
    assert.equal(first.status, 0, first.notes);
    const second = await approve(['--as', 'bob', '--commit', NEW]);
    assert.equal(second.status, 0, second.notes);
    assert.deepEqual(await approvals(), [
      ['alice', 'west', CHANGES],
      ['bob', undefined, CHANGES],
    ]);
    const { approvals: [{ at = '' } = {}] = [] } = await readRelease();
    // The time of the API server is known to the second.
    assert.ok(Math.abs(Date.parse(at) - before) < 60_000, at);
    const { output } = await stoker(['history', 'app']);
    assert.match(output, /^NUMBER .* APPROVED BY *\n2 .* alice \(west\), bob *\n$/);

    const again = await approve(['--as', 'alice']);
    assert.equal(again.status, 0, again.notes);
    assert.match(again.notes, /app-2 .* by bob\.\n/);
    assert.equal((await approvals()).length, 2);
  });

  test('stores nothing without a confirmation, or for a wave that needs no approval', async (t) => {
    const { approve, readRelease } = await arrange(t);
    const { resourceVersion } = (await readRelease()).metadata;
    assert.equal((await approve([], {})).status, 64, 'without a terminal to confirm on');
    assert.equal((await approve([], { confirm: async () => false })).status, 1);
    assert.equal((await approve(['--wave', 'last', '--yes'])).status, 64);
    assert.equal((await approve(['--commit', OLD, '--yes'])).status, 1);
    assert.equal((await readRelease()).metadata.resourceVersion, resourceVersion);
  });

  test('stores nothing if gateways report other changes before the confirmation', async (t) => {
    const { approve, approveAfter, approvals, reportChange, note } = await arrange(t);
    const early = await approveAfter(() => reportChange('everything'));
    assert.equal(early.status, 1, early.notes);
    assert.deepEqual([await approvals(), (await approve()).status], [[], 1], 'the controller has not noted them');
    const OTHER = digestFor('both').slice(0, 32);
    await reportChange('one');
    const late = await approveAfter(async () => {
      await reportChange('everything');
      await note(['one', 'everything'], OTHER);
    });
    assert.equal(late.status, 1, late.notes);
    assert.match(late.notes, /error: [^;\n]*; [^:\n]*: /);
    assert.deepEqual(await approvals(), []);
    const done = await approve();
    assert.equal(done.status, 0, done.notes);
    assert.match(done.notes, / 1 change .* earlier\./);
    assert.deepEqual(
      (await approvals()).map(([, , changes]) => changes),
      [OTHER],
    );
  });

  test('loses no approval of two users at once', async (t) => {
    const { namespace, approve, approvals } = await arrange(t);
    await permit(namespace, { can: 'approve', users: ['alice', 'bob'] });
    const both = { arrived: 0, ...Promise.withResolvers<void>() };
    const together: Host = {
      confirm: async () => {
        both.arrived += 1;
        if (both.arrived === 2) both.resolve();
        await both.promise;
        return true;
      },
    };
    const results = await Promise.all([
      approve(['--as', 'alice', '--wave', 'canary'], together),
      approve(['--as', 'bob', '--wave', 'west'], together),
    ]);
    for (const { status, notes } of results) assert.equal(status, 0, notes);
    assert.deepEqual((await approvals()).sort(), [
      ['alice', 'canary', CHANGES],
      ['bob', 'west', CHANGES],
    ]);
  });

  test('stores the approval although the controller changes the release at the same time', async (t) => {
    const { namespace, address, approvals, readRelease } = await arrange(t);
    const { kubeconfig } = await connectCluster();
    const access = connect({ kubeconfig, namespace }, {});
    t.after(() => access.client.close());
    const effectOf: EffectOf = (gatewaySync, beyond) => effectOfApproval(gatewaySync, {}, beyond);
    const read = async () => ({ releases: [storedReleaseOf(await getRelease(access, 'app-2'))] });
    const effect = effectOf(await access.client.getAs(gatewaySyncPath(namespace, 'app')), await read());
    assert.ok(effect.kind === 'approval');
    const request = access.client.request.bind(access.client);
    let isFirst = true;
    access.client.request = async <T>(call: ApiRequest): Promise<T> => {
      if (call.method === 'PATCH' && isFirst) {
        isFirst = false;
        await mergePatch(syncReleasePath(namespace, 'app-2'), {
          metadata: { labels: { [RELEASE_LABELS.result]: 'Complete' } },
        });
      }
      return request<T>(call);
    };
    await carryOut(access, { name: address.name, effectOf, read, agreed: agreementOf(effect) });
    assert.equal(isFirst, false);
    assert.equal((await approvals()).length, 1);
    assert.equal((await readRelease()).metadata.labels?.[RELEASE_LABELS.result], 'Complete');
  });

  test('needs permission to view and to approve, and no other', async (t) => {
    const { namespace, approve, approvals, stoker } = await arrange(t);
    await permit(namespace, { can: 'view', users: ['victor'] });
    const refused = await approve(['--as', 'victor']);
    assert.equal(refused.status, 3, refused.notes);
    assert.match(refused.notes, /error: .* namespace test-\w+: .* role …-approvers /);
    assert.deepEqual(await approvals(), []);
    await permit(namespace, { can: 'approve', users: ['alice'] });
    const paused = await stoker(['pause', 'app', '--yes', '--as', 'alice']);
    assert.deepEqual([paused.status, / role edit /.test(paused.notes)], [3, true], paused.notes);
    const done = await approve(['--as', 'alice']);
    assert.equal(done.status, 0, done.notes);
    assert.deepEqual(await approvals(), [['alice', undefined, CHANGES]]);
  });

  test('is refused if the release does not exist any longer, or another one has its name', async (t) => {
    const { namespace, address, approveAfter, approvals } = await arrange(t);
    const remove = () => callApi({ method: 'DELETE', path: syncReleasePath(namespace, 'app-2') });
    const replaced = await approveAfter(async () => {
      await remove();
      await writeReleases(address, [{ number: 2, commit: OLD }]);
    });
    assert.equal(replaced.status, 1, replaced.notes);
    assert.match(replaced.notes, /app-2 is another release/);
    assert.deepEqual(await approvals(), []);
    await remove();
    await writeReleases(address, [{ number: 2, commit: NEW }]);
    const gone = await approveAfter(remove);
    assert.equal(gone.status, 1, gone.notes);
    assert.match(gone.notes, /error: SyncRelease app-2 not found /);
  });
});
