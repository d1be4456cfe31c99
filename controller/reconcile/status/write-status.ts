import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { FIELD_MANAGERS } from '../../../shared/api/names.ts';
import { isApiError, unlessStatus } from '../../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../../shared/io/kubernetes/client.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';
import { mergePatchOf } from './merge-patch.ts';

export type StatusWrite =
  | { kind: 'written' | 'unchanged' | 'gone' }
  /** The resource was changed after `gatewaySync`: the status must be decided again, from `live`. */
  | { kind: 'conflict'; live: GatewaySync };

/**
 * Writes a status that was decided from `gatewaySync`: sends one merge patch with the changed fields for this version,
 * or nothing. Throws other errors of the API server, and of the client if nothing can be written now.
 */
export async function writeStatus(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  status: GatewaySyncStatus,
): Promise<StatusWrite> {
  const { namespace, name, uid, resourceVersion } = gatewaySync;
  const patch = mergePatchOf(gatewaySync.status, status);
  if (!patch) return { kind: 'unchanged' };
  const path = gatewaySyncPath(namespace, name);
  const body = { metadata: { uid, resourceVersion }, status: patch };
  try {
    // The object can have 1 MiB, and its new status is known.
    const options = { query: { fieldManager: FIELD_MANAGERS.controller }, accept: METADATA_ONLY };
    await client.mergePatch(`${path}/status`, body, options);
    return { kind: 'written' };
  } catch (error) {
    if (isApiError(error, 404)) return { kind: 'gone' };
    if (!isApiError(error, 409)) throw error;
    const live = await unlessStatus(404, client.getAs<GatewaySync>(path));
    // Created again under the same name: the watch delivers it.
    if (live?.metadata.uid !== uid) return { kind: 'gone' };
    // The conflict has another cause, such as a webhook, so that another attempt needs a delay.
    if (live.metadata.resourceVersion === resourceVersion) throw error;
    return { kind: 'conflict', live };
  }
}
