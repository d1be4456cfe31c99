import assert from 'node:assert/strict';
import { json } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import { corePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../../support/cluster.ts';
import { condition, untilCondition, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { until } from '../../support/until.ts';
import { answerWith, arrange, isIn, isReady, TOKEN } from './commit-status-world.ts';
import { startStatusHost, store } from './start-status-host.ts';

suite('a commit status for a git server', { concurrency: 4 }, () => {
  test('that is refused is reported next to a resource that is ready, until it is fixed', async (t) => {
    const { address, namespace, controller, wish, host, reportAll } = await arrange(t, {
      posted: false,
      answer: answerWith(401),
    });
    await reportAll(
      {},
      (await untilGatewaySync(address, 'resolved', ({ status }) => !!status?.lastSyncCommit)).status?.lastSyncCommit,
    );
    const refused = await untilGatewaySync(
      address,
      'refused',
      (resource) => isReady(resource) && condition(resource, 'CommitStatus')?.status === 'False',
    );
    const { status, reason, message = '' } = condition(refused, 'CommitStatus') ?? {};
    assert.deepEqual([status, reason], ['False', 'AuthenticationFailed']);
    assert.match(message, /\(401\); .* Secret /);
    assert.equal(condition(refused, 'Ready')?.reason, 'Synced');
    const path = corePath('events', namespace);
    const events = async () => (await callApi<{ items: { reason: string; message: string }[] }>({ path })).items;
    await until(async () => (await events()).some((event) => event.reason === 'AuthenticationFailed'), {
      describe: 'an event',
    });
    assert.ok(!JSON.stringify(await events()).includes(TOKEN) && !controller.output.includes(TOKEN));
    host.answer = store;
    await wish('plants');
    const taken = await untilGatewaySync(address, 'taken', isIn('pending', 1));
    assert.equal(taken.status?.commitStatus?.context, 'plants/oslo');
    await untilCondition(address, 'CommitStatus', 'True');
  });

  test("is sent to the API of the repository's server if no URL is configured", async (t) => {
    const { server, address, wish } = await arrange(t, { posted: false, isWished: false });
    const paths: string[] = [];
    server.redirect = ({ url = '', headers }, response) => {
      if (!url.startsWith('/api/')) return;
      paths.push(`${url} ${headers.authorization}`);
      store(response);
    };
    await wish('plant', '');
    const { status } = await untilGatewaySync(address, 'posted', isIn('pending', 1));
    assert.deepEqual(paths, [`/api/v1/repos/plant/config/statuses/${status?.lastSyncCommit} Bearer ${TOKEN}`]);
  });

  test('is sent to Azure DevOps with the token as a password, for a repository with spaces in its path', async (t) => {
    const place = { path: 'tfs/My Project/_git/my repo', provider: 'azuredevops' };
    const { server, address, wish } = await arrange(t, { posted: false, isWished: false, place });
    const posts: object[] = [];
    server.redirect = async (request, response) => {
      if (request.method !== 'POST' || !request.url?.includes('/_apis/')) return;
      const { authorization } = request.headers;
      store(response);
      posts.push({ url: request.url, authorization, body: await json(request) });
    };
    await wish('plant', '');
    const { status } = await untilGatewaySync(address, 'posted', isIn('pending', 1));
    assert.deepEqual(posts, [
      {
        url: `/tfs/My%20Project/_apis/git/repositories/my%20repo/commits/${status?.lastSyncCommit}/statuses?api-version=5.0`,
        authorization: `Basic ${btoa(`:${TOKEN}`)}`,
        body: { state: 'pending', description: '0/2 gateways', context: { genre: 'stoker', name: 'plant/oslo' } },
      },
    ]);
  });

  test("isn't sent to a denied address", async (t) => {
    const host = await startStatusHost(t, '127.0.0.3');
    const environment = { GIT_ALLOW_LOCAL: 'false', GIT_DENIED_NETWORKS: '127.0.0.3/32' };
    const { address } = await arrange(t, { posted: false, host, environment });
    const resource = await untilCondition(address, 'CommitStatus', 'False');
    assert.equal(condition(resource, 'CommitStatus')?.reason, 'AddressDenied');
    assert.deepEqual(host.posts, []);
  });
});
