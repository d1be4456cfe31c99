import path from 'node:path';
import { until } from '../testbed/until.ts';
import { dim, headline, say, showPlugin, timeline } from './console.ts';
import { BRANCH, gatewaySyncObject, POD, RESOURCE, sampleFiles } from './objects.ts';
import { type Gateway, type Stage, startGateway, startStage, stayUp } from './start-stage.ts';
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
    headline('A push, and a signed webhook');
    await showDelivery(running, 'webhook');
    headline(`The same without a webhook: the repository is polled every ${POLL_SECONDS} s`);
    await showDelivery(running, 'polling');
    await showState(running);
    if (once) return;
    headline('Still running: try it');
    const commands = [
      'get gsync,sreport,events',
      `annotate gsync ${RESOURCE} --overwrite sync.io/requested-ref=${BRANCH}`,
    ];
    say(`delivered files       ${gateway.data}/config`);
    say(`a signed webhook\n${webhookCommand(stage)}`);
    await stayUp(stage, commands);
  } finally {
    await gateway.agent.stop();
    await stage.stop();
  }
}

/** Creates the pod, and prints the injected containers. */
async function showGateway({ cluster, resource }: Stage): Promise<Gateway> {
  headline('The gateway');
  const gateway = await startGateway(cluster);
  const names = (gateway.pod.spec.initContainers ?? []).map(({ name, image }) => `${name} (${image})`);
  say(`pod ${POD} was created through the API server and was injected with the sidecar ${names.join(', ')}`);
  say(
    dim(
      'there is no node here, so the demo acts as the kubelet and runs the agent with the environment of that container',
    ),
  );
  await until('the first sync', () => resource()?.status?.gateways?.synced === 1);
  say(`first sync  done: ${Object.keys(sampleFiles).length - 1} files in ${gateway.data}/config`);
  return gateway;
}

/** Changes a file, and follows it to the gateway. */
async function showDelivery(running: Running, by: 'webhook' | 'polling'): Promise<void> {
  const { repository, resource, webhookUrl, secret, gateway } = running;
  const content = `hello by ${by} at ${new Date().toISOString()}\n`;
  const commit = await repository.commit({ files: { 'shared/greeting.txt': content }, message: 'Change the greeting' });
  say(
    `pushed ${commit.slice(0, 8)} to ${BRANCH}${by === 'webhook' ? ', sending the webhook now' : ', without a webhook'}`,
  );
  const startedAt = performance.now();
  const file = { path: path.join(gateway.data, 'config/greeting.txt'), content };
  const delivery = watchDelivery({ resource, commit, file }, startedAt);
  const answers = by === 'webhook' ? [await postPush(webhookUrl, secret, BRANCH)] : [];
  const what = 'the receiver responded 202: the request is stored';
  timeline([...answers.map((at) => ({ what, atMs: at - startedAt })), ...(await delivery)]);
}

async function showState({ cluster }: Stage): Promise<void> {
  headline('The result in kubectl stoker');
  await showPlugin(cluster.kubeconfig, 'status', RESOURCE);
  await showPlugin(cluster.kubeconfig, 'trace', RESOURCE, '--last');
}

/** Returns a command that sends a signed webhook. */
const webhookCommand = ({ webhookUrl, secret }: Stage) => `
    BODY='${JSON.stringify({ ref: `refs/heads/${BRANCH}` })}'
    curl -i ${webhookUrl} -H 'Content-Type: application/json' -H 'X-GitHub-Event: push' \\
      -H "X-Hub-Signature-256: sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac ${secret} | sed 's/.* //')" -d "$BODY"
`;
