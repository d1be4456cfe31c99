import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { apply, createNamespace } from '../../support/cluster.ts';
import { injectedPod, report } from '../../support/gateway-pods.ts';
import { applyGatewaySync, condition, untilStatus } from '../../support/gateway-syncs.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { startController } from '../../support/start-controller.ts';
import { until } from '../../support/until.ts';
import { type StatusHost, startStatusHost, store } from './start-status-host.ts';

/** Content of the resource's Secret. */
export const TOKEN = 'tokenThatMayWriteStatuses';

interface Options {
  environment?: Record<string, string>;
  gateways?: string[];
  /** Path of the repository on the git server, and the API that the server has. */
  place?: { path: string; provider: string };
  host?: StatusHost;
  /** Waits for the first post. */
  posted?: boolean;
  /** Whether the resource is created. */
  isWished?: boolean;
  /** Overrides fields of the spec. */
  spec?: object;
  /** Response of the server. */
  answer?: StatusHost['answer'];
}

/** A resource with gateways, and a server for the status of its commit. */
export async function arrange(t: TestContext, options: Options = {}) {
  const {
    environment = {},
    gateways = ['a', 'b'],
    place = { path: 'plant/config', provider: 'gitea' },
    posted = true,
    isWished = true,
    spec = {},
    answer = store,
  } = options;
  const host = options.host ?? (await startStatusHost(t));
  host.answer = answer;
  const server = await gitServerFor(t, { tls: true });
  const repository = await server.createRepository(place.path);
  const commit = await repository.commit({ files: { 'config/a': '1' } });
  const namespace = await createNamespace(t);
  const address = { namespace, name: 'app' };
  const ca = `${host.ca}\n${await readFile(server.caFile ?? '', 'utf8')}`;
  const stringData = { token: `${TOKEN}\n`, ca };
  await apply({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'status', namespace }, stringData });
  const start = (more: Record<string, string> = {}) =>
    startController(t, namespace, { CLUSTER_NAME: 'oslo', ...environment, ...more });
  const controller = await start();
  for (const name of gateways) await apply(injectedPod(namespace, name, address.name));
  const git = (context: string, url: string | undefined) => ({
    repo: repository.url,
    caSecretRef: { name: 'status', key: 'ca' },
    commitStatus: {
      provider: place.provider,
      secretRef: { name: 'status', key: 'token' },
      context: `${context}/{{ .Cluster }}`,
      ...(url && { url }),
    },
  });
  const wish = async (context = 'plant', url: string | undefined = host.api) =>
    await applyGatewaySync(address, git(context, url), spec);
  /** Removes the commit status from the spec. */
  const silence = async () => {
    const { commitStatus: _, ...rest } = git('plant', undefined);
    await applyGatewaySync(address, rest, spec);
  };
  // The first post counts the gateways, which the controller may see later than the resource.
  await silence();
  await untilStatus(address, { gateways: { total: gateways.length } });
  if (isWished) await wish();
  const states = () => host.posts.map(({ body: { state } }) => state);
  const untilStates = (...expected: string[]) =>
    until(states, {
      describe: `posted ${expected}`,
      accept: (seen) => seen.join() === expected.join(),
      timeout: 60_000,
    });
  if (posted) await untilStates('pending');
  const reportAll = async (status: Parameters<typeof report>[1], reported = commit) => {
    for (const name of gateways) await report({ namespace, name }, { commit: reported, ref: 'main', ...status });
  };
  return {
    host,
    server,
    repository,
    commit,
    namespace,
    address,
    controller,
    start,
    wish,
    silence,
    states,
    untilStates,
    reportAll,
  };
}

/** A refusal whose message must not be repeated. */
export const answerWith =
  (status: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse): void =>
    void response
      .writeHead(status, { 'Content-Type': 'application/json', ...headers })
      .end('{"message":"the token was tokenThatMayWriteStatuses"}');

export const isReady = (resource: GatewaySync) => condition(resource, 'Ready')?.status === 'True';
/** Whether this number of statuses was posted, and this one last. */
export const isIn =
  (state: string, posts: number) =>
  ({ status }: GatewaySync) =>
    status?.commitStatus?.state === state && status.commitStatus.posts === posts;
