import { before } from 'node:test';
import { configSchema } from '../../controller/config.ts';
import { type ControllerHost, type Ending, runController } from '../../controller/run-controller.ts';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { readConfig } from '../../shared/config.ts';
import { type Scope, scopeOfSuite } from './clean-up.ts';
import { connectCluster, createNamespace } from './cluster.ts';
import type { Address } from './gateway-syncs.ts';
import { type OwnProgram, startOwnProgram } from './own-program.ts';
import { type Program, startProgram } from './program.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export type OwnController = OwnProgram<Ending>;

export type ControllerTimes = NonNullable<ControllerHost['times']>;

/** Pods of other tests don't wait for the API server to learn that an endpoint has gone. */
const TIMES: ControllerTimes = { admission: { lingerMs: 0 } };

async function environmentOf(namespace: string, environment: Record<string, string>): Promise<Record<string, string>> {
  const { kubeconfig } = await connectCluster();
  return {
    KUBECONFIG: kubeconfig,
    POD_NAME: `controller-${process.pid}`,
    POD_NAMESPACE: namespace,
    WATCH_NAMESPACES: namespace,
    LEADER_ELECTION: 'false',
    WEBHOOK_PORT: '0',
    METRICS_PORT: '0',
    HEALTH_PORT: String(await freePort()),
    GIT_ALLOW_LOCAL: 'true',
    LOG_LEVEL: 'debug',
    ...environment,
  };
}

/**
 * Runs a controller for one namespace in the process of the test, without admission and metrics unless the environment
 * enables them.
 */
export async function startController(
  t: Scope,
  namespace: string,
  environment: Record<string, string> = {},
  times: ControllerTimes = {},
): Promise<OwnController> {
  const env = await environmentOf(namespace, environment);
  const config = readConfig(configSchema, env);
  const scratch = await temporaryDirectory(t, 'scratch-');
  const keys = await temporaryDirectory(t, 'keys-');
  const controller = startOwnProgram(t, { name: 'controller', env, level: config.LOG_LEVEL }, (host) =>
    runController(config, {
      ...host,
      scratch,
      keys,
      times: { ...times, admission: { ...TIMES.admission, ...times.admission } },
    }),
  );
  await controller.waitForLog(/controller started/);
  return controller;
}

/** Runs such a controller as a process, for tests that kill or inspect it, or that need another bundle. */
export async function startControllerProcess(
  t: Scope,
  namespace: string,
  environment: Record<string, string> = {},
  bundle = 'dist/controller.mjs',
): Promise<Program> {
  // Its directories have the name of its pod.
  const TMPDIR = await temporaryDirectory(t, 'controller-');
  const program = startProgram(t, bundle, { env: { TMPDIR, ...(await environmentOf(namespace, environment)) } });
  await program.waitForLog(/controller started/);
  return program;
}

/**
 * One controller and one namespace for all tests of a file or a suite that only need them to exist. Gives each test the
 * address of its own resource.
 */
export function shareController(environment: Record<string, string> = {}): () => Address {
  const scope = scopeOfSuite();
  let namespace = '';
  let resources = 0;
  before(async () => {
    namespace = await createNamespace(scope);
    await startController(scope, namespace, environment);
  });
  return () => ({ namespace, name: `app-${++resources}` });
}
