import assert from 'node:assert/strict';
import { suite, type TestContext, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { GitRepository } from '../../../scripts/testbed/git-repository.ts';
import type { GitServer } from '../../../scripts/testbed/git-server.ts';
import type { RequestOutcome } from '../../../shared/api/gateway-sync-status.ts';
import { NO_REPOSITORY, REQUEST_ANNOTATIONS } from '../../../shared/api/names.ts';
import { withSuffix } from '../../../shared/domain/kubernetes/request-id.ts';
import { apply, createNamespace } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { readEvents } from '../../support/events.ts';
import {
  type Address,
  applyGatewaySync,
  condition,
  gatewaySync,
  patchResource,
  patchStatus,
  push,
  request,
  untilCommit,
  untilGatewaySync,
  untilStatus,
} from '../../support/gateway-syncs.ts';
import { serveRepository } from '../../support/git-server-for.ts';
import { type OwnController, shareController, startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';

interface World {
  git: GitServer;
  repository: GitRepository;
  address: Address;
  /** Commits by ref. */
  commits: Record<'main' | 'v1' | 'v2' | 'develop', string>;
}

const newAddress = shareController();

/** A repository with main (including v2), v1, and develop, and a resource that follows main. */
async function arrange(t: TestContext, spec: object = {}, address = newAddress()): Promise<World> {
  const { server, repository, commit: v1 } = await serveRepository(t);
  await repository.tag('v1', { annotated: true });
  const develop = await repository.commit({ files: { 'config/a': 'd' }, branch: 'develop' });
  const main = await repository.commit({ files: { 'config/a': '2' } });
  await repository.tag('v2');
  await applyGatewaySync(address, { repo: repository.url }, spec);
  await untilCommit(address, main);
  return { git: server, repository, address, commits: { main, v1, v2: main, develop } };
}

/**
 * The same with a separate controller, which can be ended, and a separate namespace, because events are limited per
 * namespace.
 */
async function arrangeWithController(
  t: TestContext,
  spec: object = {},
): Promise<World & { controller: OwnController }> {
  const address = { namespace: await createNamespace(t), name: 'app' };
  const controller = await startController(t, address.namespace);
  return { ...(await arrange(t, spec, address)), controller };
}

/** Waits for events with these reasons, and returns the reasons of all events. */
const untilReasons = (address: Address, ...reasons: string[]): Promise<string[]> =>
  until(async () => (await readEvents(address)).map(({ reason }) => reason), {
    describe: `the events ${reasons}`,
    accept: (found) => reasons.every((reason) => found.includes(reason)),
  });

const untilOutcome = (address: Address, id: string, outcome: RequestOutcome) =>
  untilStatus(address, { lastRequest: { id, outcome } });

suite('a sync request', { concurrency: 4 }, () => {
  test('for a tag moves the gateways there and is echoed', async (t) => {
    const { address, commits } = await arrangeWithController(t);
    const at = new Date();
    await request(address, 'v1', { id: 'one', at });
    const { status } = await untilCommit(address, commits.v1);
    assert.partialDeepStrictEqual(status?.target, { ref: 'v1', source: 'Request', requestId: 'one' });
    await untilReasons(address, 'RefResolved', 'RequestApplied');
    const echo = { id: 'one', ref: 'v1', by: 'github', at: at.toISOString(), outcome: 'Applied' };
    assert.deepEqual(status?.lastRequest, echo);
  });

  test('can be replaced by hand, and by hand again with its own ref', async (t) => {
    const { address, commits } = await arrange(t);
    const at = new Date();
    const id = withSuffix('one', { ref: 'v1', at: at.toISOString(), by: 'github', repo: NO_REPOSITORY });
    const annotate = (ref: string) =>
      patchResource(address, { metadata: { annotations: { [REQUEST_ANNOTATIONS.requestedRef]: ref } } });
    await request(address, 'v1', { id, at });
    await untilCommit(address, commits.v1);
    await annotate('v2');
    const { status } = await untilCommit(address, commits.v2);
    assert.partialDeepStrictEqual(status?.target, { ref: 'v2', source: 'Request', requestId: id });
    assert.deepEqual([status?.lastRequest?.by, status?.lastRequest?.id], ['manual', id]);
    await annotate('v1');
    const back = await untilCommit(address, commits.v1);
    assert.equal(back.status?.lastRequest?.outcome, 'Applied');
  });

  test('is followed until spec.git.ref is edited', async (t) => {
    const { address, commits, repository } = await arrange(t);
    await request(address, 'v1', { id: 'one' });
    await untilCommit(address, commits.v1);
    await applyGatewaySync(address, { repo: repository.url, ref: 'develop' });
    const { status } = await untilCommit(address, commits.develop);
    assert.deepEqual(status?.target, { ref: 'develop', source: 'Spec' });
    assert.equal(status?.lastRequest?.outcome, 'Superseded');
    assert.match(status?.lastRequest?.message ?? '', /spec\.git\.ref was edited/);
  });

  test('for a commit of a fork is ignored', async (t) => {
    const { address, repository, commits } = await arrange(t);
    const fork = await repository.commit({ files: { 'config/a': 'evil' }, branch: 'fork' });
    await repository.git('update-ref', 'refs/pull/1/head', fork);
    await repository.deleteRef('refs/heads/fork');
    for (const [id, ref] of Object.entries({ pull: 'refs/pull/1/head', hash: fork })) {
      await request(address, ref, { id });
      const { status } = await untilOutcome(address, id, 'Ignored');
      assert.equal(status?.lastSyncCommit, commits.main);
    }
  });

  test('that was committed in a manifest by mistake is ignored', async (t) => {
    const { address, repository, commits } = await arrange(t);
    const manifest = gatewaySync(address, { repo: repository.url }) as { metadata: object };
    const annotations = { [REQUEST_ANNOTATIONS.requestedRef]: 'v1', [REQUEST_ANNOTATIONS.requestId]: 'kept' };
    await apply({ ...manifest, metadata: { ...address, annotations } }, '--field-manager=flux', '--force-conflicts');
    const { status } = await untilOutcome(address, 'kept', 'Ignored');
    assert.equal(status?.lastSyncCommit, commits.main);
    assert.match(status?.lastRequest?.message ?? '', / manifest\b/);
  });

  test('waits while the resource is paused, and is handled after that', async (t) => {
    const { address, repository, commits } = await arrange(t);
    await applyGatewaySync(address, { repo: repository.url }, { paused: true });
    await request(address, 'v1', { id: 'patient' });
    const paused = await untilOutcome(address, 'patient', 'Pending');
    assert.equal(paused.status?.lastSyncCommit, commits.main);
    assert.equal(condition(paused, 'Ready')?.reason, 'Paused');
    await applyGatewaySync(address, { repo: repository.url }, { paused: false });
    await untilOutcome(address, 'patient', 'Applied');
  });

  test('that arrives while the controller is down is handled when it is back', slow, async (t) => {
    const { repository, commit: v1 } = await serveRepository(t);
    await repository.tag('v1');
    const main = await repository.commit({ files: { 'config/a': '2' } });
    const address = { namespace: await createNamespace(t), name: 'app' };
    const first = await startController(t, address.namespace);
    await applyGatewaySync(address, { repo: repository.url });
    await untilCommit(address, main);
    await first.stop();
    await request(address, 'v1', { id: 'night' });
    await startController(t, address.namespace);
    await untilCommit(address, v1);
    const later = await repository.commit({ files: { 'config/a': '3' } });
    await push(address, 'main');
    const { status } = await untilStatus(address, { lastPush: { outcome: 'Applied' } });
    assert.equal(status?.lastSyncCommit, v1, 'a push to spec.git.ref does not end a request');
    assert.notEqual(later, v1);
  });
});

suite('a ref that the server shows only after its webhook', { concurrency: 4 }, () => {
  test('is waited for, without a log line per query', slow, async (t) => {
    const { address, repository, commits, git } = await arrangeWithController(t);
    await request(address, 'v3', { id: 'early' });
    // It is pending even before the git server has responded.
    const waiting = await untilGatewaySync(address, 'no ref', ({ status }) =>
      /no ref v3 yet/.test(status?.lastRequest?.message ?? ''),
    );
    assert.equal(waiting.status?.lastRequest?.outcome, 'Pending');
    assert.equal(waiting.status?.lastSyncCommit, commits.main);
    assert.equal(condition(waiting, 'Ready')?.reason, 'Resolving');
    assert.equal(condition(waiting, 'RefResolved')?.status, 'True');
    const asked = git.requests.length;
    await until(() => git.requests.length >= asked + 2, { describe: 'two more looks' });
    const still = await untilOutcome(address, 'early', 'Pending');
    assert.equal(still.metadata.resourceVersion, waiting.metadata.resourceVersion, 'nothing is written meanwhile');
    await repository.tag('v3', { target: commits.v1 });
    const done = await untilOutcome(address, 'early', 'Applied');
    assert.equal(done.status?.lastSyncCommit, commits.v1);
    assert.equal(condition(done, 'Ready')?.status, 'True');
    const reasons = await untilReasons(address, 'RequestApplied');
    assert.ok(!reasons.includes('RequestFailed'));
  });
});

suite('a status that is wiped while no controller runs', { concurrency: 4 }, () => {
  test('lets neither an older request nor an older push supersede an edit', slow, async (t) => {
    const { address, repository, commits, controller } = await arrangeWithController(t, {
      webhook: { allowedRefs: ['v*', 'late'] },
    });
    await repository.branch('late', commits.develop);
    const at = new Date();
    await request(address, 'v1', { id: 'release', at });
    await push(address, 'late', at);
    await untilOutcome(address, 'release', 'Applied');
    await applyGatewaySync(address, { repo: repository.url, ref: 'v2' }, { webhook: { allowedRefs: ['v*', 'late'] } });
    const before = await untilOutcome(address, 'release', 'Superseded');
    await controller.stop();
    await patchStatus(address, null);
    await startController(t, address.namespace);
    const after = await untilOutcome(address, 'release', 'Superseded');
    const endOf = ({ status }: typeof after) => [status?.target, status?.lastSyncCommit, status?.lastPush?.outcome];
    assert.deepEqual(endOf(after), endOf(before));
    assert.deepEqual(after.status?.target, { ref: 'v2', source: 'Spec' });
  });
});

suite('a push from a webhook', { concurrency: 4 }, () => {
  test('to the tracked branch syncs at once', async (t) => {
    const { address, repository } = await arrange(t);
    const commit = await repository.commit({ files: { 'config/a': '3' } });
    await push(address, 'main');
    const { status } = await untilCommit(address, commit);
    assert.equal(status?.lastPush?.outcome, 'Applied');
    assert.deepEqual(status?.target, { ref: 'main', source: 'Spec' });
  });
});

suite('a status of a GatewaySync', () => {
  test('is decided again if another client changes or wipes it', slow, async (t) => {
    const { address, commits } = await arrangeWithController(t);
    await request(address, 'v1', { id: 'first' });
    const before = await untilOutcome(address, 'first', 'Applied');
    const decisionIn = (resource: typeof before) => {
      const { target, lastSyncCommit, lastRequest, gateways } = resource.status ?? {};
      return { target, lastSyncCommit, lastRequest, gateways, ready: condition(resource, 'Ready')?.reason };
    };
    const isAsBefore = (resource: typeof before) => isDeepStrictEqual(decisionIn(resource), decisionIn(before));
    for (const status of [{ lastSyncCommit: commits.develop, gateways: null, conditions: [] }, null]) {
      await patchStatus(address, status);
      await untilGatewaySync(address, 'as it was', isAsBefore);
    }
  });
});
