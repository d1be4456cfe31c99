import path from 'node:path';
import { gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { dim, headline, say, show, timeline } from './console.ts';
import { BRANCH, gatewaySyncObject, NAMESPACE, POD, RESOURCE, sampleFiles } from './objects.ts';
import { readTable } from './read-table.ts';
import { showPlugin } from './show-plugin.ts';
import { type Stage, startStage, stayUp } from './start-stage.ts';
import { type Gateway, startGateway } from './start-system.ts';
import { postPush, watchDelivery } from './watch-delivery.ts';

const POLL_SECONDS = 5;

interface Running extends Stage {
  gateway: Gateway;
}

/** Runs the whole path on an embedded control plane. */
export async function runEmbedded({ once }: { once: boolean }): Promise<void> {
  const stage = await startStage({
    files: sampleFiles,
    gatewaySync: (repo) => gatewaySyncObject(repo, `${POLL_SECONDS}s`),
  });
  const gateway = await showGateway(stage);
  const running = { ...stage, gateway };
  try {
    await showWebhook(running);
    await showPolling(running);
    await showState(running);
    if (once) return;
    const commands = [
      'get gsync,sreport,events',
      `annotate gsync ${RESOURCE} --overwrite sync.io/requested-ref=${BRANCH}`,
    ];
    const more = `a signed webhook\n${webhookCommand(stage)}`;
    await stayUp(stage, { files: `${gateway.data}/config`, logs: gateway.agent.log, more }, commands);
  } finally {
    await gateway.agent.stop();
    await stage.stop();
  }
}

/** Creates the pod, and prints the injected containers. */
async function showGateway({ cluster, follower }: Stage): Promise<Gateway> {
  headline('The gateway');
  const gateway = await startGateway(cluster);
  const names = (gateway.pod.spec.initContainers ?? []).map(({ name, image }) => `${name} (${image})`);
  say(`pod ${POD} was created through the API server and was injected with the sidecar ${names.join(', ')}`);
  say(
    dim(
      'there is no node here, so the demo acts as the kubelet and runs the agent with the environment of that container',
    ),
  );
  await follower.until('the first sync', ({ status }) => status?.gateways?.synced === 1);
  say(`first sync  done: ${Object.keys(sampleFiles).length - 1} files in ${gateway.data}/config`);
  return gateway;
}

async function showWebhook({ repository, follower, webhookUrl, secret, gateway }: Running): Promise<void> {
  headline('A push, and a signed webhook');
  const content = `hello by webhook at ${new Date().toISOString()}\n`;
  const commit = await repository.commit({ files: { 'shared/greeting.txt': content }, message: 'Change the greeting' });
  say(`pushed ${commit.slice(0, 8)} to ${BRANCH}, sending the webhook now`);
  const startedAt = performance.now();
  const delivery = watchDelivery(
    follower,
    { commit, file: { path: path.join(gateway.data, 'config/greeting.txt'), content } },
    startedAt,
  );
  const [answer, moments] = await Promise.all([postPush(webhookUrl, secret, BRANCH), delivery]);
  if (answer.status !== 202) throw new Error(`the receiver responded ${answer.status}: ${answer.body}`);
  timeline([{ what: 'the receiver responded 202: the request is stored', atMs: answer.at - startedAt }, ...moments]);
}

async function showPolling({ repository, follower, gateway }: Running): Promise<void> {
  headline(`The same without a webhook: the repository is polled every ${POLL_SECONDS} s`);
  const content = `hello by polling at ${new Date().toISOString()}\n`;
  const startedAt = performance.now();
  const commit = await repository.commit({
    files: { 'shared/greeting.txt': content },
    message: 'Change the greeting again',
  });
  say(`pushed ${commit.slice(0, 8)} to ${BRANCH}, without a webhook`);
  timeline(
    await watchDelivery(
      follower,
      { commit, file: { path: path.join(gateway.data, 'config/greeting.txt'), content } },
      startedAt,
    ),
  );
}

async function showState({ cluster }: Stage): Promise<void> {
  headline('The objects in the cluster, as kubectl prints them');
  show('kubectl get gatewaysyncs', await readTable(cluster.client, gatewaySyncPath(NAMESPACE)));
  show('kubectl get syncreports', await readTable(cluster.client, syncReportPath(NAMESPACE)));
  headline('The same in kubectl stoker');
  await showPlugin(cluster.kubeconfig, 'status', RESOURCE);
  await showPlugin(cluster.kubeconfig, 'trace', RESOURCE, '--last');
}

/** Returns a command that sends a signed webhook. */
const webhookCommand = ({ webhookUrl, secret }: Stage) => `
    BODY='${JSON.stringify({ ref: `refs/heads/${BRANCH}` })}'
    curl -i ${webhookUrl} -H 'Content-Type: application/json' -H 'X-GitHub-Event: push' \\
      -H "X-Hub-Signature-256: sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac ${secret} | sed 's/.* //')" -d "$BODY"
`;
