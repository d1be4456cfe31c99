import { randomBytes } from 'node:crypto';
import { agentClusterRole } from '../testbed/agent-role.ts';
import { type ApiObject, applyNamespace, applyObject } from '../testbed/apply-object.ts';
import { clientOf } from '../testbed/client-of.ts';
import { startApiServer } from '../testbed/control-plane.ts';
import { findBinaries, lookForBinary } from '../testbed/find-binaries.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { startGitServer } from '../testbed/git-server.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { step } from '../testbed/step.ts';
import { buildBundles } from './build-bundles.ts';
import { bold, dim, headline, say } from './console.ts';
import { GatewaySyncFollower } from './follow-gateway-sync.ts';
import { NAMESPACE } from './objects.ts';
import { type Cluster, startOperator } from './start-system.ts';

/** The parts that run before the first gateway: a control plane, a repository, the operator, and the GatewaySync. */
export interface Stage {
  cluster: Cluster;
  repository: GitRepository;
  follower: GatewaySyncFollower;
  webhookUrl: string;
  secret: string;
  stop: () => Promise<void>;
}

/** Content of a demo: the first commit, and the GatewaySync for the URL of the repository. */
export interface Play {
  files: Record<string, string>;
  gatewaySync: (repo: string) => ApiObject;
}

export async function startStage({ files, gatewaySync }: Play): Promise<Stage> {
  headline('Preparing');
  await buildBundles();
  await step('Finding etcd and kube-apiserver', () => findBinaries('etcd', 'kube-apiserver'));
  const server = await step('Starting an API server with the CRDs', async () => {
    const apiServer = await startApiServer();
    await installCrds(apiServer);
    return apiServer;
  });
  const cluster = { ...server, client: clientOf(server.kubeconfig, { userAgent: 'stoker-operator-demo' }) };
  const gitServer = await startGitServer();
  const repository = await gitServer.createRepository('gateways');
  await repository.commit({ files, message: 'First configuration' });
  await applyNamespace(cluster, NAMESPACE);
  await applyObject(cluster, agentClusterRole);

  const secret = randomBytes(20).toString('hex');
  const { webhookUrl, stop } = await step('Starting the operator', () => startOperator(cluster, secret));
  headline('The operator');
  say(`receiver    accepts signed webhooks at ${webhookUrl}`);
  say('controller  watches, resolves, injects');

  const follower = new GatewaySyncFollower();
  const following = new AbortController();
  void follower.run(cluster.client, NAMESPACE, following.signal);
  await applyObject(cluster, gatewaySync(repository.url));
  return {
    cluster,
    repository,
    follower,
    webhookUrl,
    secret,
    stop: async () => {
      following.abort();
      await Promise.all([stop(), gitServer.stop()]);
      await server.stop();
    },
  };
}

interface Places {
  /** Delivered files. */
  files: string;
  /** Logs of agents. */
  logs: string;
  more?: string;
}

/** Prints what to try, and stays until the user ends the demo; the demo itself doesn't need kubectl. */
export async function stayUp({ cluster, repository }: Stage, places: Places, commands: string[]): Promise<void> {
  headline('Still running: try it');
  say(`delivered files       ${places.files}`);
  say(`the repository        git clone ${repository.url}   ${dim('(and push to it)')}`);
  say(`logs                  ${cluster.dir}/*.log, ${places.logs}`);
  if (places.more) say(places.more);
  const kubectl = lookForBinary('kubectl');
  say(`with kubectl          ${kubectl ? '' : dim('(not installed here)')}`);
  const lines = commands.map((command) => `    ${kubectl ?? 'kubectl'} -n ${NAMESPACE} ${command}`);
  console.log(`\n    export KUBECONFIG=${cluster.kubeconfig}\n${lines.join('\n')}\n`);
  say(bold('Press Ctrl-C to stop everything.'));
  await new Promise(() => setInterval(() => {}, 1 << 30));
}
