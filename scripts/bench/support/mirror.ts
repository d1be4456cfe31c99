import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { Reflector } from '../../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../../shared/log.ts';
import type { World } from './world.ts';

/** The GatewaySyncs of all namespaces, each at its latest version. */
export type Mirror = Reflector<GatewaySync, GatewaySync>;

/** Watches all GatewaySyncs until the benchmark ends. */
export async function mirrorResources({ client, ending }: World): Promise<Mirror> {
  const mirror: Mirror = new Reflector<GatewaySync, GatewaySync>({
    client,
    path: gatewaySyncPath(),
    pageSize: 500,
    project: (object) => object,
    onChange: () => {},
    log: createLogger('bench', { level: 'silent' }),
  });
  void mirror.run(ending.signal);
  await mirror.firstSync;
  return mirror;
}
