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
import { dim, headline, say } from './console.ts';
import { GatewaySyncFollower } from './follow-gateway-sync.ts';
import { NAMESPACE, RESOURCE } from './objects.ts';
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
  await applyNamespace(cluster.client, NAMESPACE);
  await applyObject(cluster.client, agentClusterRole);

  const secret = randomBytes(20).toString('hex');
  const { webhookUrl, stop } = await step('Starting the operator', () => startOperator(cluster, secret));
  headline('The operator');
  say(`receiver    accepts signed webhooks at ${webhookUrl}`);
  say('controller  watches, resolves, injects');

  const follower = new GatewaySyncFollower();
  const following = new AbortController();
  void follower.run(cluster.client, { namespace: NAMESPACE, name: RESOURCE }, following.signal);
  await applyObject(cluster.client, gatewaySync(repository.url));
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

/** Prints commands to try with kubectl, if it is installed; the demo doesn't need it. */
export function sayKubectl({ cluster: { kubeconfig } }: Stage, ...commands: string[]): void {
  const kubectl = lookForBinary('kubectl');
  if (!kubectl) return void say(`for kubectl           KUBECONFIG=${kubeconfig}   ${dim('(not installed here)')}`);
  say('with kubectl');
  const lines = commands.map((command) => `    ${kubectl} -n ${NAMESPACE} ${command}`);
  console.log(`\n    export KUBECONFIG=${kubeconfig}\n${lines.join('\n')}\n`);
}
