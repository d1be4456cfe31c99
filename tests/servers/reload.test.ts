import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { agentClusterRole } from '../../scripts/testbed/agent-role.ts';
import { type GitServer, startGitServer } from '../../scripts/testbed/git-server.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { apply, createNamespace } from '../support/cluster.ts';
import { applyGatewaySync, request, untilGatewaySync } from '../support/gateway-syncs.ts';
import { controllerStarter } from '../support/start-path.ts';
import { namespaceObstacle } from './process-namespace.ts';
import { programPath, type Server, servers } from './servers.ts';
import { type ServerPod, startServer } from './start-server.ts';

const obstacle = await namespaceObstacle();

/** Returns why a server can't be tested here. Prometheus is a binary of the test bed. */
function obstacleOf({ name }: Server): string | undefined {
  const isMissing = name !== 'prometheus' && programPath(name) === undefined;
  return obstacle ?? (isMissing ? `it needs ${name}` : undefined);
}

let git: GitServer;
before(async () => {
  git = await startGitServer();
});
after(() => git.stop());

const specOf = ({ gateway: { reload, verify } }: Server) => ({
  sync: {
    profiles: { default: { mappings: [{ source: '.', destination: 'config', template: true }], syncPeriod: 5 } },
  },
  rollout: { waves: [{ name: 'canary', gateways: 1 }], onFailure: 'Rollback' },
  gateway: { reload, verify: { ...verify, for: '3s', interval: '1s', failureThreshold: 3 } },
});

/** Records which files ever contained a text. */
function watchFiles(t: TestContext, files: string[], text: string): Set<string> {
  const found = new Set<string>();
  const look = () => {
    for (const file of files) if (contentOf(file).includes(text)) found.add(file);
  };
  const timer = setInterval(look, 5);
  t.after(() => clearInterval(timer));
  return found;
}

/** A file is absent for a moment while the agent replaces it. */
function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

async function testServer(t: TestContext, server: Server): Promise<void> {
  const repository = await git.createRepository(server.name);
  await repository.commit({ files: server.files('one') });
  const address = { namespace: await createNamespace(t), name: 'app' };
  await apply(agentClusterRole);
  await (await controllerStarter(t, address.namespace)).start();
  await applyGatewaySync(address, { repo: repository.url }, specOf(server));
  const pods: ServerPod[] = [];
  for (const name of ['gateway-0', 'gateway-1']) pods.push(await startServer(t, { address, name, server }));
  const allAnswer = (version: string) => Promise.all(pods.map((pod) => pod.untilAnswers(version)));
  const deliver = async (files: Record<string, string>, phase: RolloutStatus['phase']) => {
    const commit = await repository.commit({ files });
    await request(address, commit);
    const { status } = await untilGatewaySync(
      address,
      `${phase} of ${commit}`,
      ({ status: { rollout } = {} }) => rollout?.commit === commit && rollout.phase === phase,
      120_000,
    );
    return status?.rollout;
  };
  await allAnswer('one');
  await untilGatewaySync(address, 'all synced', ({ status }) => status?.gateways?.synced === pods.length);

  await deliver(server.files('two'), 'Complete');
  await allAnswer('two');

  const files = pods.map(({ data }) => path.join(data, 'config', server.file));
  const damaged = watchFiles(t, files, 'three');
  const back = await deliver(server.damaged('three'), 'RolledBack');
  assert.match(back?.failureMessage ?? '', server.failure);
  assert.equal(damaged.size, 1, 'only the canary ever had the damaged configuration');
  await allAnswer('two');

  await deliver(server.files('four'), 'Complete');
  await allAnswer('four');
}

suite('a signal reloads, and a verification keeps a damaged configuration in the canary, with', () => {
  for (const server of servers) test(server.name, { skip: obstacleOf(server) }, (t) => testServer(t, server));
});
