import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../shared/log.ts';

/** The GatewaySyncs of all namespaces, each at its latest version. */
export type Mirror = Reflector<GatewaySync, GatewaySync>;

/** Watches all GatewaySyncs until the signal aborts. */
export async function mirrorGatewaySyncs(client: KubernetesClient, signal: AbortSignal): Promise<Mirror> {
  const mirror: Mirror = new Reflector({
    client,
    path: gatewaySyncPath(),
    pageSize: 500,
    project: (object) => object,
    onChange: () => {},
    log: createLogger('scripts', { level: 'silent' }),
  });
  void mirror.run(signal);
  await mirror.firstSync;
  return mirror;
}
