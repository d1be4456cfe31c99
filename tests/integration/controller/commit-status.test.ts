import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { slow } from '../../support/depth.ts';
import { report } from '../../support/gateway-pods.ts';
import { condition, push, untilGatewaySync } from '../../support/gateway-syncs.ts';
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
});
