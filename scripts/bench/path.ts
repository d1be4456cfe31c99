import { randomBytes } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { applyObject } from '../demo/apply-object.ts';
import { buildBundles } from '../demo/build-bundles.ts';
import { GatewaySyncFollower } from '../demo/follow-gateway-sync.ts';
import { BRANCH, gatewaySyncObject, NAMESPACE, namespaceObject, RESOURCE, sampleFiles } from '../demo/objects.ts';
import { startGateway, startOperator } from '../demo/start-system.ts';
import { postPush, watchDelivery } from '../demo/watch-delivery.ts';
import { agentClusterRole } from '../testbed/agent-role.ts';
import { clientOf } from '../testbed/client-of.ts';
import { startControlPlane } from '../testbed/control-plane.ts';
import type { GitRepository } from '../testbed/git-repository.ts';
import { startGitServer } from '../testbed/git-server.ts';
import { installCrds } from '../testbed/install-crds.ts';
import { runCommand } from '../testbed/run-command.ts';
import { step } from '../testbed/step.ts';
import { printTable, quantile } from './table.ts';

/** What one delivery took since its POST, in milliseconds. */
interface Times {
  answered: number;
  resolved: number;
  onDisk: number;
}

/** From the POST of a signed delivery to the file on the gateway's disk, over all three programs; `--changes 100 --files 200,20000`, and `--rollout` with a rollout of one wave. */
export async function run(options: string[]): Promise<void> {
  const { values } = parseArgs({
    args: options,
    options: {
      changes: { type: 'string', default: '100' },
      files: { type: 'string', default: '200,20000' },
      rollout: { type: 'boolean', default: false },
    },
  });
  await buildBundles();
  const rows: string[][] = [];
  const changes = Number(values.changes);
  const spec = values.rollout ? { rollout: {} } : {};
  for (const files of values.files.split(',')) rows.push(...(await measure(Number(files), { changes, spec })));
  printTable(['from POST to …', 'p50', 'p99'], rows);
}

interface Load {
  changes: number;
  /** More for the spec of the GatewaySync. */
  spec: object;
}

async function measure(files: number, { changes, spec }: Load): Promise<string[][]> {
  const controlPlane = await step(`Starting a control plane, for ${files} files`, () => startControlPlane());
  const client = clientOf(controlPlane.kubeconfig, { userAgent: 'bench' });
  const cluster = { ...controlPlane, client };
  const server = await startGitServer();
  const secret = randomBytes(20).toString('hex');
  const follower = new GatewaySyncFollower();
  const following = new AbortController();
  const running: { stop(): Promise<unknown> }[] = [server];
  try {
    const repository = await server.createRepository('gateways');
    await repository.commit({ files: { ...sampleFiles, ...manyFiles(files) } });
    await installCrds(cluster);
    for (const object of [namespaceObject, agentClusterRole]) await applyObject(client, object);
    const operator = await startOperator(cluster, secret);
    running.push(operator);
    void follower.run(client, { namespace: NAMESPACE, name: RESOURCE }, following.signal);
    const gatewaySync = gatewaySyncObject(repository.url, '1h');
    await applyObject(client, { ...gatewaySync, spec: { ...gatewaySync.spec, ...spec } } as typeof gatewaySync);
    const { data, agent } = await startGateway(cluster);
    running.push(agent);
    await follower.until('the first sync', ({ status }) => status?.gateways?.synced === 1, 120_000);
    const times: Times[] = [];
    for (let n = 0; n < changes; n += 1) {
      times.push(await deliver({ repository, follower, data, webhookUrl: operator.webhookUrl, secret }, n));
      await sleep(200);
    }
    const row = (what: string, of: (taken: Times) => number) => [
      `${files} files: ${what}`,
      ...[0.5, 0.99].map((share) => `${quantile(times.map(of), share).toFixed(0)} ms`),
    ];
    return [
      row('the answer 202', ({ answered }) => answered),
      row('the commit in the status', ({ resolved }) => resolved),
      row("the file on the gateway's disk", ({ onDisk }) => onDisk),
      [
        `${files} files: a bare git fetch of the commit`,
        `${(await bareFetch(repository, cluster.dir)).toFixed(0)} ms`,
        '',
      ],
    ];
  } finally {
    following.abort();
    await Promise.all(running.map((program) => program.stop()));
    await cluster.stop();
  }
}

const manyFiles = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`shared/many/${n % 97}/${n}.json`, `{"n": ${n}}\n`]));

interface Stage {
  repository: GitRepository;
  follower: GatewaySyncFollower;
  data: string;
  webhookUrl: string;
  secret: string;
}

async function deliver({ repository, follower, data, webhookUrl, secret }: Stage, n: number): Promise<Times> {
  const content = `hello ${n}\n`;
  const commit = await repository.commit({ files: { 'shared/greeting.txt': content } });
  const file = { path: path.join(data, 'config/greeting.txt'), content };
  const startedAt = performance.now();
  const [answer, [resolved, onDisk]] = await Promise.all([
    postPush(webhookUrl, secret, BRANCH),
    watchDelivery(follower, { commit, file }, startedAt),
  ]);
  if (answer.status !== 202) throw new Error(`the receiver answered ${answer.status}: ${answer.body}`);
  return {
    answered: answer.at - startedAt,
    resolved: resolved?.atMs ?? Number.NaN,
    onDisk: onDisk?.atMs ?? Number.NaN,
  };
}

/** Milliseconds that git alone needs to fetch one more commit. */
async function bareFetch(repository: GitRepository, folder: string): Promise<number> {
  const clone = path.join(folder, 'bare');
  const fetch = (commit: string) =>
    runCommand('git', [`--git-dir=${clone}`, 'fetch', '--quiet', '--depth=1', repository.url, commit]);
  await runCommand('git', ['init', '--quiet', '--bare', clone]);
  await fetch(await repository.commit({ files: { 'shared/greeting.txt': 'before' } }));
  const commit = await repository.commit({ files: { 'shared/greeting.txt': 'after' } });
  const startedAt = performance.now();
  await fetch(commit);
  return performance.now() - startedAt;
}
