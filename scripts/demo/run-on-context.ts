import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { KubeConfig } from '@kubernetes/client-node';
import { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { ApiCredentials } from '../../shared/io/kubernetes/credentials.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { freePort } from '../testbed/free-port.ts';
import { type GitServer, startGitServer } from '../testbed/git-server.ts';
import { makeTemporaryFolder, type TemporaryFolder } from '../testbed/temporary-folder.ts';
import { applyObject } from './apply-object.ts';
import { borrowCluster } from './borrow-cluster.ts';
import { nothingBrought } from './brought.ts';
import { buildBundles } from './build-bundles.ts';
import { bold, dim, headline, say, show, timeline } from './console.ts';
import { GatewaySyncFollower } from './follow-gateway-sync.ts';
import { giveBack } from './give-back.ts';
import { BRANCH, gatewaySyncObject, NAMESPACE, RESOURCE, sampleFiles } from './objects.ts';
import { startProgram } from './programs.ts';
import { readTable } from './read-table.ts';
import { postPush, watchDelivery } from './watch-delivery.ts';

/** A signal so soon after the first is the same one. */
const SAME_SIGNAL_MS = 1_000;

/**
 * The part of the path that needs no way from the cluster to this machine: receiver and controller run here with the
 * person's own rights, and the resource lives in their cluster. Pods are left out, since the cluster could not call the
 * admission endpoint, nor its nodes reach the repository. Ctrl-C ends it with an `AbortError`.
 */
export async function runOnContext({ context, once: isOnce }: { context: string; once: boolean }): Promise<void> {
  const config = chooseContext(context);
  headline(`Preparing, on the cluster of context ${context}`);
  await buildBundles('receiver', 'controller');
  const folder = await makeTemporaryFolder('stoker-demo-');
  const { client, kubeconfig } = await writeKubeconfig(config, folder);
  const server = await startGitServer();
  const brought = nothingBrought();
  const signal = listenForEnd();
  let isComplete: boolean;
  try {
    // Nothing is under way when the cluster is given back, or it would come after that.
    await borrowCluster(client, brought, signal);
    signal.throwIfAborted();
    const interrupted = once(signal, 'abort');
    await Promise.race([show202(client, { kubeconfig, folder, server }), interrupted]);
    signal.throwIfAborted();
    if (!isOnce) {
      say(bold('Ctrl-C ends everything, and leaves the cluster as it was.'));
      await interrupted;
      signal.throwIfAborted();
    }
  } finally {
    const givenBack = await giveBack(client, brought);
    for (const sentence of givenBack.sentences) say(sentence);
    isComplete = givenBack.isComplete;
    await Promise.all([server.stop(), folder.remove()]);
  }
  if (!isComplete) throw new Error('not all that it created could be removed: see above');
}

/**
 * Aborts at Ctrl-C, and at what else asks a process to end. npm hands on signals that the terminal sends to all, so one
 * may come twice; who sends another one later does not want to wait. The terminal may be gone by then.
 */
function listenForEnd(): AbortSignal {
  const interruption = new AbortController();
  let first: number | undefined;
  const end = () => {
    first ??= performance.now();
    interruption.abort();
    if (performance.now() - first < SAME_SIGNAL_MS) return;
    console.error('Ended before all was removed. The next run removes the rest.');
    process.exit(130);
  };
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, end);
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
  return interruption.signal;
}

interface Tools {
  kubeconfig: string;
  folder: TemporaryFolder;
  server: GitServer;
}

async function show202(client: KubernetesClient, { kubeconfig, folder, server }: Tools): Promise<void> {
  const repository = await server.createRepository('gateways');
  await repository.commit({ files: sampleFiles });
  const secret = randomBytes(20).toString('hex');
  const webhookPort = await freePort();
  const common = { KUBECONFIG: kubeconfig, METRICS_PORT: '0' };
  const receiver = await startProgram(
    'receiver',
    {
      ...common,
      METRICS_PORT: String(await freePort()),
      RECEIVER_HOST: '127.0.0.1',
      RECEIVER_PORT: String(webhookPort),
      WEBHOOK_HMAC_SECRET: secret,
    },
    folder.path,
  );
  const controller = await startProgram(
    'controller',
    {
      ...common,
      POD_NAMESPACE: NAMESPACE,
      WATCH_NAMESPACES: NAMESPACE,
      WEBHOOK_PORT: '0',
      GIT_ALLOW_LOCAL: 'true',
      AUTO_BIND_AGENT: 'false',
    },
    folder.path,
  );
  const follower = new GatewaySyncFollower();
  const following = new AbortController();
  void follower.run(client, { namespace: NAMESPACE, name: RESOURCE }, following.signal);
  await applyObject(client, gatewaySyncObject(repository.url, '60s'));
  await follower.until('the first commit', ({ status }) => status?.lastSyncCommit !== undefined);

  headline('A push, and a signed webhook');
  say(dim('pods are left out: the cluster cannot reach this machine'));
  const commit = await repository.commit({ files: { 'shared/greeting.txt': `${new Date().toISOString()}\n` } });
  const startedAt = performance.now();
  const url = `http://127.0.0.1:${webhookPort}/webhook/${NAMESPACE}/${RESOURCE}`;
  const [answer, moments] = await Promise.all([
    postPush(url, secret, BRANCH),
    watchDelivery(follower, { commit }, startedAt),
  ]);
  if (answer.status !== 202) throw new Error(`the receiver answered ${answer.status}: ${answer.body}`);
  timeline([{ what: 'the receiver answered 202: the request is stored', atMs: answer.at - startedAt }, ...moments]);
  show(`kubectl get gatewaysyncs -n ${NAMESPACE}`, await readTable(client, gatewaySyncPath(NAMESPACE)));
  following.abort();
  // The receiver would stay for some seconds, for senders that have not heard of its end: here there are none.
  await Promise.all([receiver.stop(0), controller.stop()]);
}

function chooseContext(context: string): KubeConfig {
  const config = new KubeConfig();
  config.loadFromDefault();
  const names = config.getContexts().map(({ name }) => name);
  if (!names.includes(context)) throw new Error(`there is no context ${context}; there are: ${names.join(', ')}`);
  config.setCurrentContext(context);
  return config;
}

/**
 * The programs take their cluster from a file's current context: a copy with that one chosen. A credential plugin gets
 * the person's environment by its entry there, since the programs get none of it: `LOG_LEVEL`, say, means another thing.
 */
async function writeKubeconfig(
  config: KubeConfig,
  folder: TemporaryFolder,
): Promise<{ client: KubernetesClient; kubeconfig: string }> {
  const kubeconfig = `${folder.path}/kubeconfig`;
  const { exec } = config.getCurrentUser() ?? {};
  if (exec) {
    const environment = Object.entries(process.env).map(([name, value]) => ({ name, value }));
    exec.env = [...environment, ...(exec.env ?? [])];
  }
  await writeFile(kubeconfig, config.exportConfig(), { mode: 0o600 });
  return {
    client: new KubernetesClient(new ApiCredentials(config), { userAgent: 'stoker-operator-demo' }),
    kubeconfig,
  };
}
