import assert from 'node:assert/strict';
import { after, before, suite, type TestContext, test } from 'node:test';
import { createNamespace } from '../support/cluster.ts';
import { readEvents } from '../support/events.ts';
import { type Address, applyGatewaySync, condition, untilGatewaySync } from '../support/gateway-syncs.ts';
import { startController } from '../support/start-controller.ts';
import { until } from '../support/until.ts';
import { addWebhook, createGiteaRepository } from './gitea-repository.ts';
import { type Gitea, startGitea } from './start-gitea.ts';

/** A repository with the tag v1.4.0, and a resource that follows the range `~1.4`. */
async function arrange(t: TestContext, gitea: Gitea, { name, polling }: { name: string; polling: object }) {
  const address = { namespace: await createNamespace(t), name };
  const repository = await createGiteaRepository(t, gitea, address);
  const first = await repository.push('1', 'v1.4.0');
  await applyGatewaySync(address, { ...repository.git, semver: '~1.4' }, { polling });
  await startController(t, address.namespace);
  await untilTag(address, 'v1.4.0', first);
  return { address, ...repository };
}

const untilTag = (address: Address, tag: string, commit: string) =>
  untilGatewaySync(
    address,
    `at ${tag}, ${commit}`,
    ({ status }) => status?.target?.ref === tag && status.lastSyncCommit === commit,
  );

const untilNote = (address: Address, reason: string) =>
  until(async () => (await readEvents(address)).find((event) => event.reason === reason)?.note, { describe: reason });

suite('a range of versions on a real Gitea server', () => {
  let gitea: Gitea;
  before(async () => {
    gitea = await startGitea();
  });
  after(() => gitea?.stop());

  test('is followed by polling to tags that are pushed, moved, and deleted', async (t) => {
    const polling = { enabled: true, interval: '5s' };
    const { address, push, run } = await arrange(t, gitea, { name: 'polled', polling });
    await push('rc', 'v1.4.2-rc.1');
    const second = await push('2', 'v1.4.1');
    await untilTag(address, 'v1.4.1', second);
    const moved = await push('3', 'v1.4.1');
    await untilTag(address, 'v1.4.1', moved);
    assert.equal(await untilNote(address, 'TagMoved'), `the tag v1.4.1 was moved from ${second} to ${moved}`);
    await run('push', '--quiet', '--delete', 'origin', 'v1.4.1');
    const stays = await untilGatewaySync(
      address,
      'TagDeleted',
      (resource) => condition(resource, 'RefResolved')?.reason === 'TagDeleted',
    );
    assert.deepEqual([stays.status?.target?.ref, stays.status?.lastSyncCommit], ['v1.4.1', moved]);
    assert.match((await untilNote(address, 'TagDeleted')) ?? '', /no longer has the tag v1\.4\.1/);
    await untilTag(address, 'v1.4.2', await push('4', 'v1.4.2'));
  });

  test("moves to a release by Gitea's webhook, and to no prerelease or release of an older version", async (t) => {
    const { address, push } = await arrange(t, gitea, { name: 'released', polling: { enabled: false } });
    await addWebhook(t, gitea, { ...address, events: ['release'] });
    const release = async (tag_name: string, prerelease = false) => {
      await gitea.api('POST', '/repos/plant/released/releases', { tag_name, target_commitish: 'main', prerelease });
      const { status } = await untilGatewaySync(
        address,
        `${tag_name} is answered`,
        ({ status }) => status?.lastRequest?.ref === tag_name && status.lastRequest.outcome !== 'Pending',
      );
      return status;
    };
    const second = await push('2');
    await until(async () => !(await gitea.api<{ empty: boolean }>('GET', '/repos/plant/released')).empty, {
      describe: 'Gitea has noticed the commits',
    });
    const released = await release('v1.4.1');
    assert.deepEqual(
      [released?.lastSyncCommit, released?.lastRequest?.outcome, released?.lastRequest?.by],
      [second, 'Applied', 'gitea'],
    );
    await push('3');
    for (const [tag, prerelease] of [
      ['v1.4.2-rc.1', true],
      ['v3.0.0-rc.1', true],
      ['v1.3.9', false],
    ] as const) {
      const unmoved = await release(tag, prerelease);
      assert.deepEqual([unmoved?.lastSyncCommit, unmoved?.lastRequest?.outcome], [second, 'Ignored'], tag);
      assert.match(unmoved?.lastRequest?.message ?? '', /v1\.4\.1 is followed, the newest tag in the range ~1\.4/);
    }
  });
});
