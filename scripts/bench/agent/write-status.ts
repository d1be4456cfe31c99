import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { NAMESPACE, type World } from '../support/world.ts';

const gateways = {
  total: 1,
  synced: 0,
  pending: 1,
  error: 0,
  missingSidecar: 0,
  paused: 0,
  dryRun: 0,
  skewed: 0,
  summary: '',
};

/** Writes the resolved commit to the status, like the controller; returns `performance.now()` before the write. */
export async function writeStatus({ client }: World, name: string, commit: string): Promise<number> {
  const path = gatewaySyncPath(NAMESPACE, name);
  const { generation = 1 } = (await client.get<GatewaySync>(path)).metadata;
  const lastTransitionTime = new Date().toISOString();
  const condition = { type: 'RefResolved', status: 'True', reason: 'Resolved', message: '', lastTransitionTime };
  const status = {
    observedGeneration: generation,
    lastSyncRef: 'main',
    lastSyncCommit: commit,
    conditions: [condition],
    gateways,
  };
  const written = performance.now();
  await client.mergePatch(`${path}/status`, { status });
  return written;
}
