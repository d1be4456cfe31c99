import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { GatewaySyncStatus } from '../../../shared/api/gateway-sync-status.ts';
import { FIELD_MANAGERS, ROLLOUT_ANNOTATIONS } from '../../../shared/api/names.ts';
import { escapePointer, type PatchOperation } from '../../../shared/domain/kubernetes/json-patch.ts';
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
 * Writes a status that was decided from `gatewaySync`, or sends nothing if it is the same. Every first of two attempts is
 * for this version. Every second one allows changes that can wait for the next decision, so that frequent ones don't
 * prevent a status.
 * Throws other errors of the API server, and of the client if nothing can be written now.
 */
export async function writeStatus(
  client: KubernetesClient,
  gatewaySync: ObservedGatewaySync,
  { status, attempt }: { status: GatewaySyncStatus; attempt: number },
): Promise<StatusWrite> {
  const { namespace, name, uid, resourceVersion } = gatewaySync;
  const patch = mergePatchOf(gatewaySync.status, status);
  if (!patch) return { kind: 'unchanged' };
  const path = gatewaySyncPath(namespace, name);
  const isTested = attempt % 2 === 0;
  // The object can have 1 MiB, and its new status is known.
  const options = { query: { fieldManager: FIELD_MANAGERS.controller }, accept: METADATA_ONLY };
  try {
    if (isTested) await client.jsonPatch(`${path}/status`, testedPatch(gatewaySync, status), options);
    else await client.mergePatch(`${path}/status`, { metadata: { uid, resourceVersion }, status: patch }, options);
    return { kind: 'written' };
  } catch (error) {
    if (isApiError(error, 404)) return { kind: 'gone' };
    // A failed test is 422.
    if (!isApiError(error, 409, 422)) throw error;
    const live = await unlessStatus(404, client.getAs<GatewaySync>(path));
    // Created again under the same name: the watch delivers it.
    if (live?.metadata.uid !== uid) return { kind: 'gone' };
    // The error has another cause, such as a webhook, so that another attempt needs a delay.
    if (!isTested && live.metadata.resourceVersion === resourceVersion) throw error;
    return { kind: 'conflict', live };
  }
}

/**
 * Returns the JSON Patch (RFC 6902) that replaces the status if the spec, the orders, and the status are still those that
 * it was decided from. A request or a push may be newer: the status contains the one that was handled, so that the next
 * decision finds the other. The tests fail as well if there are no annotations or no status, or if an order is too long.
 */
function testedPatch(
  { uid, generation, spec, orders, status: before }: ObservedGatewaySync,
  status: GatewaySyncStatus,
): PatchOperation[] {
  const test = (path: string, value: unknown) => ({ op: 'test' as const, path, value });
  const orderNames = spec.rollout ? (['rollback', 'retry'] as const) : [];
  return [
    test('/metadata/uid', uid),
    test('/metadata/generation', generation),
    ...orderNames.map((order) =>
      test(`/metadata/annotations/${escapePointer(ROLLOUT_ANNOTATIONS[order])}`, orders?.[order] ?? null),
    ),
    test('/status', before),
    { op: 'replace', path: '/status', value: status },
  ];
}
