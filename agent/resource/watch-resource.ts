import type { GatewaySync, GatewaySyncSpec } from '../../shared/api/gateway-sync.ts';
import { INSPECTION } from '../../shared/api/inspection.ts';
import { INSPECT_ANNOTATION } from '../../shared/api/names.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';
import type { WatchedRollout } from './choose-release.ts';
import { Refusals } from './refusals.ts';

/** Fields of the GatewaySync that the agent uses. */
export interface WatchedResource {
  generation: number;
  spec: Pick<GatewaySyncSpec, 'git' | 'sync' | 'gateway' | 'paused'>;
  observedGeneration: number | undefined;
  refResolved: { status: string; message: string } | undefined;
  ref: string | undefined;
  commit: string | undefined;
  /** Number of gateways that follow the same resource, if known. */
  gateways: number;
  /** Only if changes are rolled out in waves. */
  rollout?: WatchedRollout | undefined;
  /** The annotation `sync.io/inspect`, unless it is longer than any question. */
  inspect?: string | undefined;
}

/** Returns commits for rollbacks or retries. */
function earlierCommits({ rollout }: NonNullable<GatewaySync['status']> = {}): string[] {
  if (!rollout) return [];
  const commits = [rollout.stableCommit, ...(rollout.earlierCommits ?? []), rollout.commit];
  return [...new Set(commits)].filter((commit) => commit !== undefined).filter(isCommitHash);
}

/** Keeps the fields that the agent uses. */
export function projectResource({ metadata, spec, status }: GatewaySync): WatchedResource {
  const condition = status?.conditions?.find(({ type }) => type === 'RefResolved');
  const inspect = metadata.annotations?.[INSPECT_ANNOTATION];
  return {
    generation: metadata.generation ?? 0,
    spec: { git: spec.git, sync: spec.sync, gateway: spec.gateway, paused: spec.paused },
    observedGeneration: status?.observedGeneration,
    refResolved: condition && { status: condition.status, message: condition.message },
    ref: status?.lastSyncRef,
    commit: status?.lastSyncCommit,
    gateways: status?.gateways?.total ?? 0,
    inspect: (inspect?.length ?? 0) <= INSPECTION.question ? inspect : undefined,
    rollout: spec.rollout && {
      waves: spec.rollout.waves ?? [],
      status: status?.rollout,
      revision: syncRevision(spec.sync),
      earlier: earlierCommits(status),
    },
  };
}

export interface WatchOptions {
  client: KubernetesClient;
  identity: Identity;
  /** Called with undefined if the resource is gone. */
  onResource: (resource: WatchedResource | undefined) => void;
  log: Logger;
}

/** An agent notices within about an hour that etcd was restored from a backup. */
const RELIST_AFTER_MS = 3_600_000;

/** Creates the mirror of the agent's GatewaySync. */
export function watchResource(options: WatchOptions): Reflector<GatewaySync, WatchedResource> {
  const { client, identity, onResource, log } = options;
  const refusals = new Refusals();
  return new Reflector<GatewaySync, WatchedResource>({
    client,
    path: gatewaySyncPath(identity.namespace),
    fieldSelector: `metadata.name=${identity.crName}`,
    relistAfterMs: RELIST_AFTER_MS,
    project: projectResource,
    onChange: (change) => {
      refusals.end();
      onResource(change.type === 'upserted' ? change.object : undefined);
    },
    retryAfterMs: (error) => (isApiError(error, 403) ? refusals.next() : undefined),
    isOldNews: (error) => isApiError(error, 403) && !refusals.isNews,
    log,
  });
}
