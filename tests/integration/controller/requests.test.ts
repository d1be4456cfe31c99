import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import type { GitRepository } from '../../../scripts/testbed/git-repository.ts';
import { startGitServer } from '../../../scripts/testbed/git-server.ts';
import { REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import { apply, connectCluster, createNamespace, kubectl } from '../../support/cluster.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  gatewaySync,
  push,
  request,
  untilGatewaySync,
} from '../../support/gateway-syncs.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

interface World {
  repository: GitRepository;
  address: Address;
  /** Commits by ref. */
  commits: Record<'main' | 'v1' | 'v2' | 'develop', string>;
}

/** A repository with main (v2 is there), v1 and develop, and a resource that follows main. */
async function arrange(t: TestContext, spec: object = {}): Promise<World> {
  const server = await startGitServer();
  t.after(() => server.stop());
  const repository = await server.createRepository('app');
  const v1 = await repository.commit({ files: { 'config/a': '1' } });
  await repository.tag('v1', { annotated: true });
  const develop = await repository.commit({ files: { 'config/a': 'd' }, branch: 'develop' });
  const main = await repository.commit({ files: { 'config/a': '2' } });
  await repository.tag('v2');
  const address = { namespace: await createNamespace(t), name: 'app' };
  await startController(t, address.namespace);
  await applyGatewaySync(address, { repo: repository.url }, spec);
  await untilCommit(address, main);
  return { repository, address, commits: { main, v1, v2: main, develop } };
}

const untilCommit = (address: Address, commit: string) =>
  untilGatewaySync(address, `at ${commit}`, ({ status }) => status?.lastSyncCommit === commit);

const readEvents = async ({ namespace }: Address) =>
  (
    await kubectl('get', 'events.v1.events.k8s.io', '--namespace', namespace, '--output', 'jsonpath={.items[*].reason}')
  ).split(' ');

const untilOutcome = (address: Address, id: string, outcome: string) =>
  untilGatewaySync(
    address,
    `request ${id} ${outcome}`,
    ({ status }) => status?.lastRequest?.id === id && status.lastRequest.outcome === outcome,
  );

suite('a request', { concurrency: 4 }, () => {
  test('for a tag moves the gateways there and is echoed', async (t) => {
    const { address, commits } = await arrange(t);
    const at = new Date();
    await request(address, 'v1', { id: 'one', at });
    const { status } = await untilCommit(address, commits.v1);
    assert.deepEqual(status?.target, { ref: 'v1', source: 'Request', requestId: 'one' });
    await until(() => readEvents(address), {
      describe: 'the events',
      accept: (reasons) => ['RefResolved', 'RequestApplied'].every((reason) => reasons.includes(reason)),
    });
    assert.deepEqual(status?.lastRequest, {
      id: 'one',
      ref: 'v1',
      by: 'github',
      at: at.toISOString(),
      outcome: 'Applied',
    });
  });

  test('made by hand with one annotation is a request too', async (t) => {
    const { address, commits } = await arrange(t);
    await kubectl(
      'annotate',
      'gs',
      address.name,
      '--namespace',
      address.namespace,
      `${REQUEST_ANNOTATIONS.requestedRef}=v1`,
    );
    const { status } = await untilCommit(address, commits.v1);
    assert.deepEqual(status?.lastRequest, { ref: 'v1', outcome: 'Applied' });
  });

  test('is followed until spec.git.ref is edited', async (t) => {
    const { address, commits, repository } = await arrange(t);
    await request(address, 'v1', { id: 'one' });
    await untilCommit(address, commits.v1);
    await applyGatewaySync(address, { repo: repository.url, ref: 'develop' });
    const { status } = await untilCommit(address, commits.develop);
    assert.deepEqual(status?.target, { ref: 'develop', source: 'Spec' });
    assert.equal(status?.lastRequest?.outcome, 'Applied');
  });

  test('that cannot be resolved leaves the last good commit in place', async (t) => {
    const { address, commits } = await arrange(t);
    await request(address, 'v9', { id: 'lost' });
    const resource = await untilOutcome(address, 'lost', 'Failed');
    assert.equal(resource.status?.lastSyncCommit, commits.main);
    assert.deepEqual(resource.status?.target, { ref: 'main', source: 'Spec' });
    assert.match(resource.status?.lastRequest?.message ?? '', /no ref v9/);
    assert.equal(condition(resource, 'RefResolved')?.status, 'True');
    assert.equal(condition(resource, 'Ready')?.status, 'True');
  });

  test('for a branch that is not followed is ignored', async (t) => {
    const { address, commits } = await arrange(t);
    for (const [id, ref] of [
      ['short', 'develop'],
      ['full', 'refs/heads/develop'],
      ['hash', commits.develop],
    ] as const) {
      await request(address, ref, { id });
      const { status } = await untilOutcome(address, id, 'Ignored');
      assert.equal(status?.lastSyncCommit, commits.main, ref);
      assert.match(status?.lastRequest?.message ?? '', /spec\.webhook\.allowedRefs/);
    }
  });

  test('is held to allowedRefs where there are some', async (t) => {
    const { address, commits } = await arrange(t, { webhook: { allowedRefs: ['dev*'] } });
    await request(address, 'v1', { id: 'tag' });
    await untilOutcome(address, 'tag', 'Ignored');
    await request(address, 'develop', { id: 'branch' });
    await untilOutcome(address, 'branch', 'Applied');
    await untilCommit(address, commits.develop);
  });

  test('for a commit of a fork is ignored', async (t) => {
    const { address, repository, commits } = await arrange(t);
    const fork = await repository.commit({ files: { 'config/a': 'evil' }, branch: 'fork' });
    await repository.git('update-ref', 'refs/pull/1/head', fork);
    await repository.deleteRef('refs/heads/fork');
    for (const [id, ref] of [
      ['pull', 'refs/pull/1/head'],
      ['hash', fork],
    ] as const) {
      await request(address, ref, { id });
      const { status } = await untilOutcome(address, id, 'Ignored');
      assert.equal(status?.lastSyncCommit, commits.main);
    }
  });

  test('older than an edit that came with it is superseded, a newer one wins', async (t) => {
    const { address, repository, commits } = await arrange(t);
    const edited = (ref: string, id: string, at: Date) => ({
      ...(gatewaySync(address, { repo: repository.url, ref }) as { metadata: object }),
      metadata: {
        ...address,
        annotations: {
          [REQUEST_ANNOTATIONS.requestedRef]: 'v1',
          [REQUEST_ANNOTATIONS.requestedAt]: at.toISOString(),
          [REQUEST_ANNOTATIONS.requestId]: id,
        },
      },
    });
    // replace, not apply: an annotation that is applied counts as kept in a file
    const replace = async (object: object) => {
      const { metadata: current } = JSON.parse(
        await kubectl('get', 'gs', address.name, '-n', address.namespace, '-o', 'json'),
      );
      const { metadata, ...rest } = object as { metadata: object };
      await (await connectCluster()).kubectlWith(
        { ...rest, metadata: { ...metadata, resourceVersion: current.resourceVersion } },
        'replace',
        '--filename',
        '-',
      );
    };
    await replace(edited('develop', 'old', new Date(Date.now() - 60_000)));
    const superseded = await untilOutcome(address, 'old', 'Superseded');
    assert.equal(superseded.status?.lastSyncCommit, commits.develop);
    await replace(edited('main', 'new', new Date(Date.now() + 5_000)));
    const applied = await untilOutcome(address, 'new', 'Applied');
    assert.equal(applied.status?.lastSyncCommit, commits.v1);
    assert.equal(applied.status?.observedRef, 'main');
  });

  test('kept in a manifest by mistake is ignored', async (t) => {
    const { address, repository, commits } = await arrange(t);
    const manifest = gatewaySync(address, { repo: repository.url }) as { metadata: object };
    const annotations = { [REQUEST_ANNOTATIONS.requestedRef]: 'v1', [REQUEST_ANNOTATIONS.requestId]: 'kept' };
    await apply({ ...manifest, metadata: { ...address, annotations } }, '--field-manager=flux', '--force-conflicts');
    const { status } = await untilOutcome(address, 'kept', 'Ignored');
    assert.equal(status?.lastSyncCommit, commits.main);
    assert.match(status?.lastRequest?.message ?? '', /comes from a manifest/);
  });

  test('that comes back with a resource from a backup is ignored', async (t) => {
    const { address, commits } = await arrange(t);
    await request(address, 'v1', { id: 'old', at: new Date(Date.now() - 60_000) });
    const before = await untilOutcome(address, 'old', 'Applied');
    assert.equal(before.status?.lastSyncCommit, commits.v1);
    await kubectl('delete', 'gs', address.name, '--namespace', address.namespace);
    const { apiVersion, kind, spec, metadata } = before;
    const backup = { apiVersion, kind, spec, metadata: { ...address, annotations: metadata.annotations } };
    await (await connectCluster()).kubectlWith(backup, 'create', '--filename', '-');
    const { status } = await untilOutcome(address, 'old', 'Ignored');
    assert.match(status?.lastRequest?.message ?? '', /older than this resource/);
    assert.equal(status?.lastSyncCommit, commits.main);
    assert.deepEqual(status?.target, { ref: 'main', source: 'Spec' });
  });

  test('waits while the resource is paused, and is done after that', async (t) => {
    const { address, repository, commits } = await arrange(t);
    await applyGatewaySync(address, { repo: repository.url }, { paused: true });
    await request(address, 'v1', { id: 'patient' });
    const paused = await untilOutcome(address, 'patient', 'Pending');
    assert.equal(paused.status?.lastSyncCommit, commits.main);
    assert.equal(condition(paused, 'Ready')?.reason, 'Paused');
    await applyGatewaySync(address, { repo: repository.url }, { paused: false });
    await untilOutcome(address, 'patient', 'Applied');
  });

  test('that arrives while the controller is down is done when it is back', async (t) => {
    const server = await startGitServer();
    t.after(() => server.stop());
    const repository = await server.createRepository('app');
    const v1 = await repository.commit({ files: { 'config/a': '1' } });
    await repository.tag('v1');
    const main = await repository.commit({ files: { 'config/a': '2' } });
    const address = { namespace: await createNamespace(t), name: 'app' };
    const first = await startController(t, address.namespace);
    await applyGatewaySync(address, { repo: repository.url });
    await untilCommit(address, main);
    await first.kill();
    await request(address, 'v1', { id: 'night' });
    await startController(t, address.namespace);
    await untilCommit(address, v1);
    const later = await repository.commit({ files: { 'config/a': '3' } });
    await push(address, 'main');
    const { status } = await untilGatewaySync(
      address,
      'the push is handled',
      (resource) => resource.status?.lastPush?.outcome === 'Applied',
    );
    assert.equal(status?.lastSyncCommit, v1, 'a push to spec.git.ref does not end a request');
    assert.notEqual(later, v1);
  });
});

suite('a push', { concurrency: 4 }, () => {
  test('to the tracked branch syncs at once', async (t) => {
    const { address, repository } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/a': '3' } });
    await push(address, 'main');
    const { status } = await untilCommit(address, commit);
    assert.equal(status?.lastPush?.outcome, 'Applied');
    assert.deepEqual(status?.target, { ref: 'main', source: 'Spec' });
  });

  test('to another branch changes nothing, but looks at the tracked ref again', async (t) => {
    const { address, repository } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/a': '3' } });
    await push(address, 'develop');
    const { status } = await untilCommit(address, commit);
    assert.equal(status?.lastPush?.outcome, 'Ignored');
    assert.deepEqual(status?.target, { ref: 'main', source: 'Spec' });
  });

  test('to a branch in allowedRefs is followed', async (t) => {
    const { address, commits } = await arrange(t, { webhook: { allowedRefs: ['refs/heads/dev*'] } });
    await push(address, 'develop');
    const { status } = await untilCommit(address, commits.develop);
    assert.deepEqual(status?.target, { ref: 'refs/heads/develop', source: 'Push' });
  });

  test('and a release of the same moment are both handled', async (t) => {
    const { address, commits } = await arrange(t);
    await Promise.all([request(address, 'v1', { id: 'release' }), push(address, 'main')]);
    const { status } = await untilGatewaySync(address, 'both', (resource) => {
      const { lastRequest, lastPush } = resource.status ?? {};
      return lastRequest?.outcome === 'Applied' && lastPush?.outcome === 'Applied';
    });
    assert.equal(status?.lastSyncCommit, commits.v1);
  });
});

suite('a status', () => {
  const patchStatus = ({ namespace, name }: Address, status: object | null) =>
    kubectl(
      ...['patch', 'gs', name, '--namespace', namespace, '--subresource=status', '--type=merge'],
      ...['--patch', JSON.stringify({ status })],
    );

  test('that somebody else changes or wipes is put right', async (t) => {
    const { address, commits } = await arrange(t);
    await request(address, 'v1', { id: 'first' });
    const before = await untilOutcome(address, 'first', 'Applied');
    const isAsBefore = ({ status }: typeof before) => JSON.stringify(status) === JSON.stringify(before.status);
    const evil = { target: { ref: 'develop', source: 'Request' }, lastSyncCommit: commits.develop };
    for (const status of [evil, null]) {
      await patchStatus(address, status);
      await untilGatewaySync(address, 'as it was', isAsBefore);
    }
    assert.equal((await readEvents(address)).filter((reason) => reason === 'RequestApplied').length, 1);
  });
});
