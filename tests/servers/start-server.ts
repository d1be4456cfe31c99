import path from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { startGuarded, tailOf } from '../../scripts/testbed/guarded-process.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { callApi } from '../support/cluster.ts';
import { markReady } from '../support/gateway-pods.ts';
import type { Address } from '../support/gateway-syncs.ts';
import { gatewayStarter } from '../support/start-path.ts';
import { until } from '../support/until.ts';
import { makeProcessNamespace, WITHOUT_CAPABILITIES } from './process-namespace.ts';
import type { Ports, Server } from './servers.ts';

/** A pod with a real server and its sidecar, in one process namespace. */
export interface ServerPod {
  ports: Ports;
  /** Root of the data volume. */
  data: string;
  /** Waits until the server uses the configuration of a version. */
  untilAnswers(version: string): Promise<void>;
}

/** Starts the injected sidecar of a pod and, after its first sync, the server, as a kubelet does. */
export async function startServer(
  t: TestContext,
  { address, name, server }: { address: Address; name: string; server: Server },
): Promise<ServerPod> {
  const ports = { port: await freePort(), other: await freePort() };
  const { container } = await makeProcessNamespace(t);
  const gateway = await gatewayStarter(t, address.namespace, {
    name,
    labels: { port: String(ports.port), other: String(ports.other) },
    spec: { shareProcessNamespace: true },
    env: { GATEWAY_PORT: String(ports.port) },
    within: [...container, ...WITHOUT_CAPABILITIES],
  });
  const { data } = gateway;
  await gateway.start();
  await until(() => callApi<SyncReport>({ path: syncReportPath(address.namespace, name) }), {
    describe: 'an agent that waits for the server',
    accept: ({ status: { state, message } = {} }) =>
      state === 'Pending' && (message ?? '').includes(`no process named ${server.gateway.reload.signal.process} runs`),
  });
  const log = path.join(data, '..', 'server.log');
  for (const argv of await server.commands(ports)) {
    startGuarded('/usr/bin/env', [...container, ...argv], { cwd: data, output: { log } });
  }
  await markReady(address.namespace, name);
  return {
    ports,
    data,
    untilAnswers: async (version) => {
      try {
        await until(() => server.answers(version, ports), { describe: `an answer of version ${version}` });
      } catch (error) {
        throw new Error(`${(error as Error).message}\n${await tailOf(log)}`, { cause: error });
      }
    },
  };
}
