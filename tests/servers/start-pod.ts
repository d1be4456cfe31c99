import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { startGuarded, tailOf } from '../../scripts/testbed/guarded-process.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { cleanUp } from '../support/clean-up.ts';
import { callApi } from '../support/cluster.ts';
import { markReady } from '../support/gateway-pods.ts';
import { gatewayStarter } from '../support/start-path.ts';
import { until } from '../support/until.ts';
import { choosePorts, type PodPorts } from './pod-ports.ts';
import { type Mount, makeProcessNamespace, WITHOUT_CAPABILITIES, withMounts } from './process-namespace.ts';
import type { Answer, Container, Recipe } from './recipe.ts';
import { commandOf } from './servers.ts';

/** A pod with real servers and its sidecar, in one process namespace. */
export interface ServerPod {
  /** Root of the data volume. */
  data: string;
  /** Waits until a command, with the ports of the pod, prints its output. */
  untilAnswers(answer: Answer): Promise<void>;
}

interface PlayedPod {
  recipe: Recipe;
  ports: PodPorts;
  data: string;
}

/** Starts the injected sidecar of a pod and, after its first sync, the servers, as a kubelet does. */
export async function startPod(
  t: TestContext,
  { namespace, name, recipe }: { namespace: string; name: string; recipe: Recipe },
): Promise<ServerPod> {
  const { metadata, spec } = recipe.template;
  const ports = await choosePorts(recipe);
  const { container } = await makeProcessNamespace(t);
  const labels = { ...metadata.labels, ...ports.labels };
  const { data, start } = await gatewayStarter(t, namespace, {
    name,
    pod: { apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, name, labels }, spec },
    env: { GATEWAY_PORT: ports.insertInto(String(recipe.spec.gateway.port)) },
    within: [...container, ...WITHOUT_CAPABILITIES],
  });
  await start();
  await until(() => callApi<SyncReport>({ path: syncReportPath(namespace, name) }), {
    describe: 'an agent that waits for the server',
    accept: ({ status }) => status?.message?.includes('gateway not notified yet') === true,
  });
  const log = path.join(data, '..', 'server.log');
  for (const each of spec.containers) {
    const argv = (await commandOf(each)).map(ports.insertInto);
    const mounts = withMounts(await mountsOf(each, { recipe, ports, data }));
    const env = { ...process.env, ...valuesOf(each, recipe) };
    const server = startGuarded('/usr/bin/env', [...container, ...mounts, ...argv], { env, output: { log } });
    cleanUp(t, () => server.killAll());
  }
  await markReady(namespace, name);
  return { data, untilAnswers: (answer) => untilAnswers(answer, ports, log) };
}

async function untilAnswers({ command, output }: Answer, ports: PodPorts, log: string): Promise<void> {
  try {
    await until(() => runCommand('sh', ['-c', ports.insertInto(command)]), {
      describe: `the output of ${command}, which is ${output}`,
      accept: (printed) => printed.trim() === output.trim(),
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${await tailOf(log)}`, { cause: error });
  }
}

/** Returns the mounts of a container, with directories next to the data volume for all other volumes. */
async function mountsOf({ volumeMounts }: Container, { recipe, ports, data }: PlayedPod): Promise<Mount[]> {
  return await Promise.all(
    volumeMounts.map(async ({ name, mountPath }) => {
      if (name === 'data') return { source: data, target: mountPath };
      const source = path.join(data, '..', 'volumes', name);
      await mkdir(source, { recursive: true });
      const volume = recipe.template.spec.volumes.find((each) => each.name === name);
      const files = recipe.configMaps.get(volume?.configMap?.name ?? '') ?? {};
      for (const [file, text] of Object.entries(files)) {
        await writeFile(path.join(source, file), ports.insertInto(text));
      }
      return { source, target: mountPath };
    }),
  );
}

/** Returns the environment variables of a container, which all come from Secrets. */
function valuesOf({ env = [] }: Container, { secrets }: Recipe): NodeJS.ProcessEnv {
  return Object.fromEntries(
    env.map(({ name, valueFrom: { secretKeyRef } }) => [name, secrets.get(secretKeyRef.name)?.[secretKeyRef.key]]),
  );
}
