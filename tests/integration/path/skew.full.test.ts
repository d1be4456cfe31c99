import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { type TestContext, test } from 'node:test';
import { agentClusterRole } from '../../../scripts/testbed/agent-role.ts';
import type { SyncReport } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { apply, callApi, createNamespace } from '../../support/cluster.ts';
import { earlierProgram, isKnownCommit } from '../../support/earlier-program.ts';
import { markReady } from '../../support/gateway-pods.ts';
import { applyGatewaySync, push, untilGatewaySync } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { controllerStarter, gatewayStarter } from '../../support/start-path.ts';
import { until } from '../../support/until.ts';

/** The last commit at which a release was a ControllerRevision and agents voted with their reports. */
const BEFORE_RELEASES = 'dcb4c9050ee180e73496ce99ff1da105ee8bed75';

const mappedTo = (destination: string) => ({
  sync: { profiles: { default: { mappings: [{ source: 'config', destination }] } } },
});

/** Starts a gateway with a first release, the next one of which needs an approval. */
async function startGateway(t: TestContext) {
  const server = await gitServerFor(t);
  const repository = await server.createRepository('app');
  const first = await repository.commit({ files: { 'config/a.txt': 'first' } });
  const address = { namespace: await createNamespace(t), name: 'app' };
  await apply(agentClusterRole);
  const controllers = await controllerStarter(t, address.namespace);
  const controller = await controllers.start();
  const edit = (destination: string) => {
    const rollout = { waves: [{ name: 'canary', gateways: 1, approval: true }] };
    return applyGatewaySync(address, { repo: repository.url }, { rollout, ...mappedTo(destination) });
  };
  await edit('config');
  const agents = await gatewayStarter(t, address.namespace);
  const agent = await agents.start();
  await markReady(address.namespace, 'gateway-0');
  await untilGatewaySync(address, 'the first release', ({ status }) => status?.gateways?.synced === 1);
  return {
    address,
    repository,
    first,
    edit,
    agents,
    agent,
    controllers,
    controller,
    content: () => readFileSync(path.join(agents.data, 'config/a.txt'), 'utf8'),
    report: async () => {
      const { status } = await callApi<SyncReport>({ path: syncReportPath(address.namespace, 'gateway-0') });
      return status;
    },
  };
}

test('an agent from before releases keeps its files, and says so', { timeout: 300_000 }, async (t) => {
  if (!(await isKnownCommit(BEFORE_RELEASES))) return t.skip('this clone lacks the commit');
  const { address, edit, agents, agent, content, report } = await startGateway(t);
  await agent.stop();
  const earlier = await agents.start(await earlierProgram(t, 'agent', BEFORE_RELEASES));
  await edit('elsewhere');
  await until(report, { describe: 'a gateway that waits', accept: (status) => status?.reason === 'Waiting' });
  assert.equal(content(), 'first');
  await earlier.stop();

  await agents.start();
  await untilGatewaySync(address, 'an approval', ({ status }) => status?.rollout?.waitsFor === 'Approval');
  assert.deepEqual([content(), (await report())?.state], ['first', 'Synced']);
});

test('an agent follows its release with a controller from before releases', { timeout: 300_000 }, async (t) => {
  if (!(await isKnownCommit(BEFORE_RELEASES))) return t.skip('this clone lacks the commit');
  const { address, repository, first, agent, controllers, controller, content, report } = await startGateway(t);
  await controller.stop();
  const earlier = await controllers.start(await earlierProgram(t, 'controller', BEFORE_RELEASES));
  const second = await repository.commit({ files: { 'config/a.txt': 'second' } });
  await push(address, 'main');
  await untilGatewaySync(address, 'the second commit', ({ status }) => status?.rollout?.nextCommit === second);
  await until(report, { describe: 'its preview', accept: (status) => status?.preview?.commit === second });
  assert.deepEqual([content(), (await report())?.commit], ['first', first]);
  await earlier.stop();

  await controllers.start();
  await untilGatewaySync(address, 'an approval', ({ status }) => status?.rollout?.waitsFor === 'Approval');
  assert.deepEqual([content(), (await report())?.commit], ['first', first]);
  await agent.stop();
});
