import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { kubectl } from '../../support/cluster.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  request,
  untilCommit,
  untilGatewaySync,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { shareController } from '../../support/start-controller.ts';

const newAddress = shareController();

/** A repository with main, v1, and v2, and a resource that is the hub of another one. */
async function arrange(t: TestContext) {
  const { server, repository, commit: v1 } = await serveRepository(t);
  await repository.tag('v1');
  const v2 = await repository.commit({ files: { 'config/a': '2' } });
  await repository.tag('v2');
  const main = await repository.commit({ files: { 'config/a': '3' } });
  const hub = newAddress();
  const follower = newAddress();
  await applyGatewaySync(hub, { repo: repository.url });
  await applyGatewaySync(follower, { repo: repository.url }, { webhook: { from: hub.name } });
  for (const address of [hub, follower]) await untilCommit(address, main);
  return { server, repository, hub, follower, commits: { v1, v2, main } };
}

const untilSource = (address: Address, reason: string) =>
  untilGatewaySync(address, reason, (resource) => condition(resource, 'WebhookSource')?.reason === reason);

suite('a resource with spec.webhook.from', { concurrency: 4 }, () => {
  test('follows a release that is delivered to its hub, by its own rules', async (t) => {
    const { repository, hub, follower, commits } = await arrange(t);
    const strict = newAddress();
    const webhook = { from: hub.name, allowedRefs: ['v2'] };
    await applyGatewaySync(strict, { repo: repository.url }, { webhook });
    await untilCommit(strict, commits.main);
    await request(hub, 'v1', { id: 'one', repo: 'app' });
    for (const address of [hub, follower]) {
      const { status } = await untilCommit(address, commits.v1);
      assert.deepEqual([status?.target?.requestId, status?.lastRequest?.outcome], ['one', 'Applied']);
    }
    const ignored = await untilGatewaySync(
      strict,
      'an outcome',
      ({ status }) => status?.lastRequest?.id === 'one' && status.lastRequest.outcome !== 'Pending',
    );
    assert.deepEqual([ignored.status?.lastRequest?.outcome, ignored.status?.lastSyncCommit], ['Ignored', commits.main]);
  });

  test('keeps what it follows while its hub is missing, and continues with the next one', async (t) => {
    const { repository, hub, follower, commits } = await arrange(t);
    await request(hub, 'v1', { id: 'one' });
    await untilCommit(follower, commits.v1);
    await kubectl('delete', 'gsync', hub.name, '--namespace', hub.namespace);
    const lost = await untilSource(follower, 'HubNotFound');
    assert.deepEqual([lost.status?.lastSyncCommit, condition(lost, 'WebhookSource')?.status], [commits.v1, 'False']);
    await applyGatewaySync(hub, { repo: repository.url });
    await untilSource(follower, 'HubFound');
    await request(hub, 'v2', { id: 'two' });
    await untilCommit(follower, commits.v2);
  });
});
