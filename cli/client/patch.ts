import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { FIELD_MANAGERS } from '../../shared/api/names.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Access } from './connect.ts';
import { attempt } from './explain.ts';
import { Problem } from './problem.ts';

/** Change of annotations (null removes one) and spec fields. */
export interface Change {
  annotations?: Record<string, string | null>;
  spec?: Record<string, unknown>;
}

/**
 * Patches a GatewaySync, and returns the new version. With the `resourceVersion` that was read, a write in the meantime
 * causes a conflict. Throws `Problem`.
 */
export function patchGatewaySync(
  access: Access,
  { name, resourceVersion }: { name: string; resourceVersion?: string | undefined },
  { annotations, spec }: Change,
): Promise<GatewaySync> {
  const { client, namespace } = access;
  // JSON omits undefined fields.
  const body = { metadata: { resourceVersion, annotations }, spec };
  const doing = `change GatewaySyncs in the namespace ${namespace}`;
  return attempt(access, { doing, role: 'edit', name, namespace }, () =>
    client.mergePatch<GatewaySync>(gatewaySyncPath(namespace, name), body, {
      query: { fieldManager: FIELD_MANAGERS.cli },
    }),
  );
}

/** Checks whether the resource was changed since it was read. */
export const isConflict = (error: unknown): boolean => error instanceof Problem && isApiError(error.cause, 409);
