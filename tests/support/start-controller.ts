import { after, before } from 'node:test';
import { freePort } from '../../scripts/testbed/free-port.ts';
import type { Scope } from './clean-up.ts';
import { connectCluster, createNamespace } from './cluster.ts';
import type { Address } from './gateway-syncs.ts';
import { type Program, startProgram } from './program.ts';

/** A controller for one namespace, without admission and metrics unless the environment enables them. */
export async function startController(
  t: Scope,
  namespace: string,
  environment: Record<string, string> = {},
): Promise<Program> {
  const { kubeconfig } = await connectCluster();
  const program = startProgram(t, 'dist/controller.mjs', {
    env: {
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
    },
  });
  await program.waitForLog(/controller started/);
  return program;
}

/**
 * One controller for all tests of a file that only need it to run, because its start takes most of the CPU
 * time of such a test. Gives each test the address of its own resource.
 */
export function shareController(): () => Address {
  const ends: (() => unknown)[] = [];
  let namespace = '';
  let resources = 0;
  before(async () => {
    const file: Scope = { after: (end) => void ends.unshift(end) };
    namespace = await createNamespace(file);
    await startController(file, namespace);
  });
  after(async () => {
    for (const end of ends) await end();
  });
  return () => ({ namespace, name: `app-${++resources}` });
}
