import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { suite, type TestContext, test } from 'node:test';
import type { GitRepository } from '../../../scripts/testbed/git-repository.ts';
import type { GitServer } from '../../../scripts/testbed/git-server.ts';
import { createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  push,
  request,
  untilCommit,
  untilCondition,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { shareController, startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

interface World {
  server: GitServer;
  repository: GitRepository;
  address: Address;
  first: string;
}

const newAddress = shareController();

async function arrange(
  t: TestContext,
  { ref = 'main', spec = {}, address = newAddress() }: { ref?: string; spec?: object; address?: Address } = {},
): Promise<World> {
  const { server, repository, commit: first } = await serveRepository(t);
  await repository.tag('v1');
  await applyGatewaySync(address, { repo: repository.url, ref }, spec);
  await untilCommit(address, first);
  return { server, repository, address, first };
}

/** The same with a separate controller, and a server that responds late or never. */
async function arrangeAlone(t: TestContext): Promise<World> {
  const address = { namespace: await createNamespace(t), name: 'app' };
  await startController(t, address.namespace);
  return await arrange(t, { address });
}

const untilPushed = (address: Address, at: Date) =>
  untilGatewaySync(
    address,
    'the push is handled',
    ({ status }) => status?.lastPush?.at === at.toISOString() && status.lastPush.outcome !== 'Pending',
  );

suite('a ref that changes on the git server', { concurrency: 4 }, () => {
  test('is followed when a tag moves', async (t) => {
    const { repository, address } = await arrange(t, { ref: 'v1' });
    const second = await repository.commit({ files: { 'config/a': '2' } });
    await repository.tag('v1', { force: true, target: second });
    await push(address, 'main');
    await untilCommit(address, second);
  });

  test('keeps the last good commit when it is deleted, reports that, and is Ready when it is back', async (t) => {
    const { repository, address, first } = await arrange(t);
    await repository.deleteRef('refs/heads/main');
    const at = new Date();
    await push(address, 'main', at);
    const resource = await untilPushed(address, at);
    assert.equal(resource.status?.lastSyncCommit, first);
    assert.equal(condition(resource, 'RefResolved')?.status, 'True', 'pods can restart');
    assert.equal(condition(resource, 'Ready')?.reason, 'RefNotFound');
    assert.equal(condition(resource, 'Stalled')?.status, 'True');
    await repository.branch('main', first);
    await push(address, 'main', new Date(at.getTime() + 1));
    await untilCondition(address, 'Ready', 'True');
  });

  test('follows the default branch if it is HEAD, even to another name', async (t) => {
    const { repository, address } = await arrange(t, { ref: 'HEAD' });
    await repository.git('branch', '-m', 'main', 'trunk');
    const second = await repository.commit({ files: { 'config/a': '2' }, branch: 'trunk' });
    await push(address, 'trunk');
    const { status } = await untilCommit(address, second);
    assert.deepEqual(status?.target, { ref: 'HEAD', source: 'Spec' });
  });

  test('keeps the last good commit when the repository is gone, and is followed once that is back', slow, async (t) => {
    const { repository, address, first } = await arrange(t, { spec: { polling: { enabled: true, interval: '5s' } } });
    await rename(repository.path, `${repository.path}.gone`);
    const gone = await untilCondition(address, 'Ready', 'RepositoryNotFound');
    assert.equal(gone.status?.lastSyncCommit, first);
    assert.equal(condition(gone, 'RefResolved')?.status, 'True', 'pods can restart');
    await rename(`${repository.path}.gone`, repository.path);
    const second = await repository.commit({ files: { 'config/a': '2' } });
    const back = await untilCommit(address, second);
    assert.equal(condition(back, 'Ready')?.status, 'True');
  });
});

suite('a git server that is unavailable', { concurrency: 4 }, () => {
  test('keeps the commit, and a request waits for it', slow, async (t) => {
    const { server, repository, address, first } = await arrangeAlone(t);
    const second = await repository.commit({ files: { 'config/a': '2' } });
    await repository.tag('v2');
    server.fault = { status: 503, headers: { 'Retry-After': '1' } };
    await request(address, 'v2', { id: 'patient' });
    const waiting = await untilGatewaySync(
      address,
      'pending, after a failed query',
      (seen) => seen.status?.lastRequest?.outcome === 'Pending' && condition(seen, 'Ready')?.status === 'False',
    );
    assert.equal(waiting.status?.lastSyncCommit, first);
    assert.equal(condition(waiting, 'RefResolved')?.status, 'True');
    server.fault = undefined;
    await untilStatus(address, { lastRequest: { outcome: 'Applied' } });
    await untilCommit(address, second);
  });
});

suite('a shared repository', { concurrency: 4 }, () => {
  test('is queried once more for a request during a reconcile', async (t) => {
    const { server, repository, address } = await arrangeAlone(t);
    const second = await repository.commit({ files: { 'config/a': '2' } });
    const asked = server.requests.length;
    const blocked = Promise.withResolvers<void>();
    server.fault = { delay: blocked.promise, times: 1 };
    await push(address, 'main');
    await until(() => server.requests.length > asked, { describe: 'the query to be in progress' });
    await repository.tag('v2', { target: second });
    await request(address, 'v2', { id: 'meanwhile' });
    blocked.resolve();
    await untilStatus(address, { lastRequest: { outcome: 'Applied' } });
    const { status } = await untilStatus(address, { lastPush: { outcome: 'Applied' } });
    assert.equal(status?.target?.ref, 'v2');
  });
});
