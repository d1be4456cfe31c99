import type { TestContext } from 'node:test';
import { freePort } from '../../scripts/testbed/free-port.ts';
import { connectCluster } from './cluster.ts';
import { type Program, startProgram } from './program.ts';

/** A controller that looks after one namespace, without admission and metrics unless the environment says so. */
export async function startController(
  t: TestContext,
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
