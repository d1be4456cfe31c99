import type { Host } from '../../cli/terminal/host.ts';
import { connectCluster } from './cluster.ts';
import { runCli } from './run-cli.ts';

/** Returns a function that runs `kubectl stoker` in a namespace, as an administrator. */
export async function stokerIn(namespace: string) {
  const { kubeconfig } = await connectCluster();
  return (line: readonly string[], host: Partial<Host> = {}) =>
    runCli([...line, '-n', namespace, '--kubeconfig', kubeconfig], host);
}
