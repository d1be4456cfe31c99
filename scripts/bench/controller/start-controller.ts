import { type RunningProgram, startProgram } from '../../demo/programs.ts';
import type { ControlPlane } from '../../testbed/control-plane.ts';
import { NAMESPACE } from './world.ts';

/** The controller as it is in its container; `moreFlags` are for Node. */
export function startController(
  { kubeconfig, dir }: ControlPlane,
  metricsPort: number,
  moreFlags: string[] = [],
): Promise<RunningProgram> {
  const environment = {
    KUBECONFIG: kubeconfig,
    POD_NAMESPACE: NAMESPACE,
    LEADER_ELECTION: 'false',
    WEBHOOK_PORT: '0',
    METRICS_PORT: String(metricsPort),
    METRICS_SECURE: 'false',
    GIT_ALLOW_LOCAL: 'true',
    LOG_LEVEL: 'warn',
    AUTO_BIND_AGENT: 'false',
  };
  return startProgram('controller', environment, dir, moreFlags);
}

/** Writes to the API server so far. */
export const readWrites = (port: number): Promise<number> =>
  readMetric(port, /^sync_controller_api_calls_total\{verb="(POST|PUT|PATCH|DELETE)"/);

/** The sum of all series whose line matches. */
export async function readMetric(port: number, pattern: RegExp): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  const lines = text.split('\n').filter((line) => pattern.test(line));
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
