import type { GatewaySync, GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';

/** What the agent looks at in its GatewaySync. */
export interface WatchedResource {
  generation: number;
  spec: Pick<GatewaySyncSpec, 'git' | 'sync' | 'gateway' | 'paused'>;
  observedGeneration: number | undefined;
  refResolved: { status: string; message: string } | undefined;
  ref: string | undefined;
  commit: string | undefined;
  /** Gateways that follow the same resource, as far as is known. */
  gateways: number;
}

/** Keeps the fields that the agent uses. */
export function projectResource({ metadata, spec, status }: GatewaySync): WatchedResource {
  const condition = status?.conditions?.find(({ type }) => type === 'RefResolved');
  return {
    generation: metadata.generation ?? 0,
    spec: { git: spec.git, sync: spec.sync, gateway: spec.gateway, paused: spec.paused },
    observedGeneration: status?.observedGeneration,
    refResolved: condition && { status: condition.status, message: condition.message },
    ref: status?.lastSyncRef,
    commit: status?.lastSyncCommit,
    gateways: status?.gateways?.total ?? 0,
  };
}
