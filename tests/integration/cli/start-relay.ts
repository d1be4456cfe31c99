import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { connectCluster } from '../../support/cluster.ts';
import { startSlowLink } from '../../support/slow-link.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** A link to the API server that can be interrupted, and a kubeconfig for it. */
export async function startRelay(t: TestContext) {
  const { url, kubeconfig } = await connectCluster();
  const link = await startSlowLink(t, url);
  const file = path.join(await temporaryDirectory(t, 'relay-'), 'kubeconfig');
  await writeFile(file, (await readFile(kubeconfig, 'utf8')).replaceAll(url, link.url));
  return { link, kubeconfig: file };
}
