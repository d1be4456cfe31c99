import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import {
  type Address,
  applyGatewaySync,
  push,
  request,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { shareController } from '../../support/start-controller.ts';

const newAddress = shareController();

/** A repository with the tags v1.4.0 and v2.0.0, and a resource that follows a range. */
async function arrange(t: TestContext, semver = '~1.4', spec: object = {}) {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const address = newAddress();
  const release = async (tag: string) => {
    const commit = await repository.commit({ files: { 'config/a': tag } });
    await repository.tag(tag);
    return commit;
  };
  const first = await release('v1.4.0');
  await release('v2.0.0');
  await applyGatewaySync(address, { repo: repository.url, semver }, spec);
  return { server, repository, address, release, first };
}

const untilTag = (address: Address, tag: string, commit: string) =>
  untilStatus(address, { target: { ref: tag }, lastSyncCommit: commit });

async function ask(address: Address, ref: string) {
  const id = `${Math.random()}`;
  await request(address, ref, { id });
  const { status } = await untilGatewaySync(
    address,
    `${ref} is answered`,
    ({ status }) => status?.lastRequest?.id === id && status.lastRequest.outcome !== 'Pending',
  );
  return status;
}

suite('a resource that follows releases', { concurrency: 4 }, () => {
  test('moves to a new tag in the range when its release is announced, and to no other', async (t) => {
    const { address, release, first } = await arrange(t);
    const { status } = await untilTag(address, 'v1.4.0', first);
    assert.deepEqual(status?.target, { ref: 'v1.4.0', range: '~1.4', source: 'Spec' });
    const second = await release('v1.4.1');
    const moved = await ask(address, 'v1.4.1');
    assert.deepEqual([moved?.lastSyncCommit, moved?.lastRequest?.outcome], [second, 'Applied']);
    for (const tag of ['v1.3.9', 'v1.4.2-rc.1', 'v3.0.0-rc.1', 'v2.1.0']) {
      await release(tag);
      const after = await ask(address, tag);
      assert.deepEqual([after?.lastSyncCommit, after?.lastRequest?.outcome], [second, 'Ignored'], tag);
      assert.equal(after?.lastRequest?.reason, 'OutOfRange', tag);
    }
  });

  test('follows an annotated tag to its commit, and a tag that is moved', async (t) => {
    const { address, repository, first } = await arrange(t);
    await untilTag(address, 'v1.4.0', first);
    const moved = await repository.commit({ files: { 'config/a': 'moved' } });
    await repository.git('tag', '--force', '--annotate', '--message', 'x', 'v1.4.0', moved);
    await push(address, 'main');
    await untilTag(address, 'v1.4.0', moved);
  });
});
