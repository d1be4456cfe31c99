import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from './temporary-directory.ts';

/** Writes a kubeconfig of one cluster and one user, and returns its path. */
export async function kubeconfigWith(t: TestContext, cluster: object, user: object): Promise<string> {
  const file = path.join(await temporaryDirectory(t, 'kubeconfig-'), 'config');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'plant',
    clusters: [{ name: 'factory', cluster }],
    contexts: [{ name: 'plant', context: { cluster: 'factory', user: 'operator', namespace: 'gateways' } }],
    users: [{ name: 'operator', user }],
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}
