import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';
import { projectResource, type WatchedResource } from './watched-resource.ts';

export interface WatchOptions {
  client: KubernetesClient;
  identity: Identity;
  /** Undefined: the resource is gone. */
  onResource: (resource: WatchedResource | undefined) => void;
  log: Logger;
}

/** A right that is missing is expected to come: the controller binds it when it sees the pod. */
const FORBIDDEN_RETRY_MS = 1_000;

/** Makes the mirror of the agent's one GatewaySync. */
export function watchResource({
  client,
  identity,
  onResource,
  log,
}: WatchOptions): Reflector<GatewaySync, WatchedResource> {
  return new Reflector<GatewaySync, WatchedResource>({
    client,
    path: gatewaySyncPath(identity.namespace),
    fieldSelector: `metadata.name=${identity.crName}`,
    project: projectResource,
    onChange: (change) => onResource(change.type === 'upserted' ? change.object : undefined),
    retryAfterMs: (error) => (isApiError(error, 403) ? FORBIDDEN_RETRY_MS : undefined),
    log,
  });
}
