import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { callApi, kubectl } from '../../support/cluster.ts';
import { slow } from '../../support/depth.ts';
import { report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, push, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { arrange, isIn, isReady, TOKEN } from './commit-status-world.ts';

suite('a commit status', { concurrency: 4 }, () => {
  test('is pending, then a success when all gateways have the commit; the token stays secret', async (t) => {
    const { host, commit, address, controller, untilStates, reportAll } = await arrange(t);
    await reportAll({});
    await untilStates('pending', 'success');
    assert.deepEqual(
      host.posts,
      ['pending 0/2 gateways', 'success 2/2 gateways'].map((words) => ({
        path: `/api/v1/repos/plant/config/statuses/${commit}`,
        authorization: `Bearer ${TOKEN}`,
        body: {
          state: words.split(' ')[0],
          context: 'plant/oslo',
          description: words.split(' ').slice(1).join(' '),
        },
      })),
    );
    const resource = await untilGatewaySync(address, 'what was posted', isIn('success', 2));
    assert.equal(resource.status?.commitStatus?.commit, commit);
    assert.equal(condition(resource, 'CommitStatus')?.status, 'True');
    assert.equal(isReady(resource), true);
    assert.ok(!JSON.stringify(resource).includes(TOKEN) && !controller.output.includes(TOKEN));
  });

  test("is a failure with the agent's message, and a success when that is over", slow, async (t) => {
    const { host, address, namespace, commit, untilStates } = await arrange(t);
    await report({ namespace, name: 'a' }, { commit, ref: 'main' });
    await report({ namespace, name: 'b' }, { state: 'Error', message: 'the data volume\nis full' });
    await untilStates('pending', 'failure');
    assert.equal(host.posts[1]?.body.description, '1/2 gateways; b: the data volume is full');
    await report({ namespace, name: 'b' }, { commit, ref: 'main' });
    await untilStates('pending', 'failure', 'success');
    await untilGatewaySync(address, 'what was posted', isIn('success', 3));
  });

  test("for a new commit doesn't start with an agent's message about the previous one", slow, async (t) => {
    const { host, address, repository, untilStates, reportAll } = await arrange(t);
    await reportAll({ state: 'Error', message: 'this commit is broken' });
    await untilStates('pending', 'failure');
    const next = await repository.commit({ files: { 'config/a': '2' } });
    await push(address, 'main');
    await untilStates('pending', 'failure', 'pending');
    await reportAll({}, next);
    await untilStates('pending', 'failure', 'pending', 'success');
    assert.ok(host.posts.slice(2).every(({ path }) => path.endsWith(next)));
  });

  test("is a failure as soon as a commit is rolled back, even if its gateways can't roll back", slow, async (t) => {
    const world = await arrange(t, { posted: false, spec: { rollout: { waves: [], previewTimeout: '0s' } } });
    const { host, address, namespace, repository, commit, reportAll } = world;
    const rolledOut = await untilGatewaySync(
      address,
      'resolved',
      ({ status }) => status?.rollout?.phase === 'Complete',
    );
    const reported = (seen: GatewaySync) => ({
      revision: seen.status?.rollout?.revision ?? '',
      rollout: seen.status?.rollout?.number ?? 0,
      generation: seen.metadata.generation ?? 0,
      agentVersion: '0.1.0',
    });
    for (const name of ['a', 'b'])
      await callApi({
        method: 'PATCH',
        path: `/api/v1/namespaces/${namespace}/pods/${name}/status`,
        body: { status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
        contentType: 'application/merge-patch+json',
      });
    await reportAll(reported(rolledOut));
    await until(() => host.posts.at(-1)?.body.state === 'success', { describe: 'the first commit is a success' });
    const before = host.posts.length;
    const next = await repository.commit({ files: { 'config/a': '2' } });
    await push(address, 'main');
    const begun = await untilGatewaySync(
      address,
      'a rollout',
      ({ status }) => status?.rollout?.phase === 'Progressing' && status.rollout.commit === next,
    );
    await reportAll(reported(begun), next);
    await untilGatewaySync(
      address,
      'complete',
      (seen) => seen.status?.rollout?.phase === 'Complete' && seen.status.rollout.stableCommit === next,
    );
    const states = () => host.posts.slice(before).map(({ body, path }) => `${path.endsWith(next)} ${body.state}`);
    await until(states, { describe: 'a success', accept: (seen) => seen.at(-1) === 'true success' });
    await kubectl('annotate', 'gsync', 'app', '--namespace', namespace, 'sync.io/rollback=previous');
    await until(states, { describe: 'a failure', accept: (seen) => seen.at(-1) === 'true failure' });
    const { status } = await untilGatewaySync(
      address,
      'on its way back',
      (seen) => seen.status?.rollout?.commit === next && seen.status.commitStatus?.state === 'failure',
    );
    assert.equal(status?.rollout?.phase, 'RollingBack');
    // Other failures have to last for 10 s. The time of a post is rounded down to a second.
    const tookMs = Date.parse(status?.commitStatus?.time ?? '') - Date.parse(status?.rollout?.startedAt ?? '');
    assert.ok(tookMs < 9_000, `posted after ${tookMs} ms`);
    assert.equal(host.posts.at(-1)?.body.description, `rolled back to ${commit.slice(0, 8)}, 0/2 gateways are back`);
  });

  test('is posted by the leader, and only new statuses by the next one', slow, async (t) => {
    const world = await arrange(t, { environment: { LEADER_ELECTION: 'true', POD_NAME: 'one' } });
    const { address, controller, start, untilStates, reportAll, repository, states } = world;
    const spare = await start({ POD_NAME: 'two' });
    await reportAll({});
    await untilStates('pending', 'success');
    await untilGatewaySync(address, 'what was posted', isIn('success', 2));
    await controller.stop();
    await spare.waitForLog(/became leader/);
    const next = await repository.commit({ files: { 'config/a': '2' } });
    await push(address, 'main');
    await untilStates('pending', 'success', 'pending');
    await reportAll({}, next);
    await untilStates('pending', 'success', 'pending', 'success');
    assert.equal(states().length, 4);
  });

  test("leaves no trace in a resource that doesn't request it", slow, async (t) => {
    const { host, address, repository } = await arrange(t, { posted: false, isWished: false });
    await applyGatewaySync(address, { repo: repository.url, caSecretRef: { name: 'status', key: 'ca' } });
    const { status } = await untilGatewaySync(address, 'resolved', (seen) => seen.status?.gateways?.total === 2);
    assert.ok(!JSON.stringify(status).includes('ommitStatus'));
    assert.deepEqual(host.posts, []);
  });
});
