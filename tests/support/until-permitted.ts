import { clientOf } from '../../scripts/testbed/client-of.ts';
import { until } from './until.ts';

/** Waits until the API server has noticed that the account of a kubeconfig may read this path; returns the kubeconfig. */
export async function untilPermitted(kubeconfig: string, path: string): Promise<string> {
  const client = clientOf(kubeconfig, { userAgent: 'test' });
  await until(async () => (await client.getAs(path)) !== undefined, { describe: `permission to read ${path}` });
  client.close();
  return kubeconfig;
}
