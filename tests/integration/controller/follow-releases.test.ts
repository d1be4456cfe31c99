import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { slow } from '../../support/depth.ts';
import { type Address, applyGatewaySync, push, request, untilGatewaySync } from '../../support/gateway-syncs.ts';
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
  untilGatewaySync(
    address,
    `at ${tag}, ${commit}`,
    ({ status }) => status?.target?.ref === tag && status.lastSyncCommit === commit,
  );

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

  test("reports that a requested tag isn't a version, and moves on with the next one that is", slow, async (t) => {
    const { address, release } = await arrange(t, '>=2025');
    const first = await release('2025.11.1');
    await ask(address, '2025.11.1');
    await untilTag(address, '2025.11.1', first);
    await release('2026.02.0');
    const ignored = await ask(address, '2026.02.0');
    const { outcome, reason } = ignored?.lastRequest ?? {};
    assert.deepEqual([ignored?.lastSyncCommit, outcome, reason], [first, 'Ignored', 'NotAVersion']);
    const next = await release('2026.10.1');
    assert.equal((await ask(address, '2026.10.1'))?.lastSyncCommit, next);
  });

  test('follows the tags of its component', slow, async (t) => {
    const { address, repository, release } = await arrange(t, '1.x');
    const first = await release('site-v1.6.0');
    for (const tag of ['app-v1.9.0', 'site-v2.0.0']) await release(tag);
    await applyGatewaySync(address, { repo: repository.url, semver: '1.x', tagPrefix: 'site-' });
    await untilTag(address, 'site-v1.6.0', first);
    const second = await release('site-v1.7.0');
    const moved = await ask(address, 'site-v1.7.0');
    assert.deepEqual([moved?.lastSyncCommit, moved?.lastRequest?.outcome], [second, 'Applied']);
    assert.equal((await ask(address, 'app-v1.9.0'))?.lastRequest?.reason, 'OtherPrefix');
  });

  test('is polled', slow, async (t) => {
    const { address, release } = await arrange(t, '*', { polling: { enabled: true, interval: '5s' } });
    await untilGatewaySync(address, 'at v2.0.0', ({ status }) => status?.target?.ref === 'v2.0.0');
    await untilTag(address, 'v2.0.1', await release('v2.0.1'));
  });

  test('follows an annotated tag to its commit, and a tag that is moved', async (t) => {
    const { address, repository, first } = await arrange(t);
    await untilTag(address, 'v1.4.0', first);
    const moved = await repository.commit({ files: { 'config/a': 'moved' } });
    await repository.git('tag', '--force', '--annotate', '--message', 'x', 'v1.4.0', moved);
    await push(address, 'main');
    await untilTag(address, 'v1.4.0', moved);
  });

  test('looks for a newer tag when another resource of the repository has an event', slow, async (t) => {
    const { address, repository, release, first } = await arrange(t);
    await untilTag(address, 'v1.4.0', first);
    const other = { ...address, name: `${address.name}-main` };
    await applyGatewaySync(other, { repo: repository.url, ref: 'main' });
    await untilGatewaySync(other, 'resolved', ({ status }) => status?.lastSyncCommit !== undefined);
    const second = await release('v1.4.1');
    await push(other, 'unfollowed');
    await untilTag(address, 'v1.4.1', second);
  });
});

suite('the API server refuses', () => {
  const cases: [name: string, git: object, message: RegExp][] = [
    ['a ref and a range', { ref: 'main', semver: '*' }, /exactly one of ref and semver/],
    ...['main', '1.4.', '~~1', '>=1 <', 'v1.4.0.1', ' ', '1 -2 - 3'].map((semver): [string, object, RegExp] => [
      `the range "${semver}"`,
      { semver },
      /must be a range of versions/,
    ]),
  ];
  for (const [name, git, message] of cases)
    test(name, async () => {
      await assert.rejects(applyGatewaySync(newAddress(), { repo: 'https://git.test/app.git', ...git }), message);
    });

  test('no range that npm can read', async () => {
    for (const semver of [
      '~1.4',
      '^1.4.0',
      '>=1.4 <2',
      '*',
      'x',
      '1',
      'v1.4.0',
      '1.3 - 1.4',
      '1.x || 2.x',
      '>=1.5.0-0',
      '~> 1.4',
      '=1.4.9',
    ])
      await applyGatewaySync(newAddress(), { repo: 'https://git.test/app.git', semver }, { paused: true });
  });
});
