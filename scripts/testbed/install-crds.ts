import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClusterAccess } from './cluster-access.ts';

const folder = path.join(import.meta.dirname, '../../chart/crds');

/** Installs the CRDs of the checkout and waits until their resources are served, for 30 s at most. */
export async function installCrds({ kubectl }: Pick<ClusterAccess, 'kubectl'>): Promise<void> {
  await kubectl('apply', '--server-side', '--force-conflicts', '--filename', folder);
  for (const deadline = Date.now() + 30_000; ; await sleep(100)) {
    try {
      await kubectl('wait', '--for=condition=Established', '--timeout=30s', '--filename', folder);
      return;
    } catch (error) {
      // kubectl gives up on an object that has no conditions at all yet.
      if (Date.now() > deadline) throw error;
    }
  }
}
