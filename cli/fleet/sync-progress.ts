import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REFRESHED_BY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { GIVEN_UP } from '../../shared/domain/rollout/releases.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import type { Look } from '../terminal/bars.ts';
import { isWhole } from './basis.ts';
import type { ResourceView } from './fleet.ts';
import { byNeed, type GatewayView } from './gateway.ts';
import { shortCommit } from './messages.ts';
import { gatewaysOf } from './names.ts';
import type { WaveView } from './waves.ts';

/** Identity of a request. */
export interface Asked {
  id: string;
  /** Value of the annotation. */
  at: string;
  ref: string;
  /** Without a ref, the followed ref is resolved again, even if the request is ignored. */
  isRefresh: boolean;
}

/** Progress of a request. */
export interface Progress {
  kind: 'waiting' | 'done' | 'failed';
  says: string;
  /** Gateways that have failed, with the reason; set when no other gateway is updating. */
  stuck?: string[];
}

/** Returns the progress of a request from the resource, and from the hub whose requests it handles, if there is one. */
export function judgeProgress(gatewaySync: GatewaySync, asked: Asked, hub?: GatewaySync): Progress {
  const { metadata, spec, status = {} } = gatewaySync;
  const { lastRequest, rollout, lastSyncCommit = '' } = status;
  const { annotations = {} } = (hub ?? gatewaySync).metadata;
  if (annotations[REQUEST_ANNOTATIONS.requestId] !== asked.id)
    return { kind: 'failed', says: `replaced by a newer request for ${annotations[REQUEST_ANNOTATIONS.requestedRef]}` };
  if (spec.paused) return { kind: 'failed', says: 'paused: the request waits until kubectl stoker resume' };
  const isSame = hub ? lastRequest?.id === asked.id : lastRequest?.at === asked.at;
  const isHandled = isSame && lastRequest?.ref === asked.ref;
  const obstacle = isHandled ? undefined : obstacleOf(gatewaySync, asked, hub);
  if (obstacle !== undefined) return { kind: 'failed', says: `${asked.ref} is not handled: ${obstacle}` };
  if (!isHandled) return { kind: 'waiting', says: 'waiting for the controller' };
  const { outcome, message = '' } = lastRequest;
  const isSettled = outcome === 'Applied' || (outcome === 'Ignored' && asked.isRefresh);
  if (outcome === 'Pending') return { kind: 'waiting', says: `querying the git server${message && `: ${message}`}` };
  if (!isSettled) return { kind: 'failed', says: `${asked.ref} was not applied (${outcome}): ${message}` };
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  // An ignored request doesn't change the target.
  const ref = outcome === 'Ignored' ? (status.target?.ref ?? asked.ref) : asked.ref;
  const what = `${ref} is ${shortCommit(lastSyncCommit)}`;
  if (rollout && isGivenUp(rollout, { commit: lastSyncCommit, revision: syncRevision(spec.sync) }))
    return { kind: 'failed', says: rollout.message ?? rollout.summary };
  if (status.observedGeneration === metadata.generation && ready?.status === 'True')
    return { kind: 'done', says: `${what}: ${doneWords(gatewaySync)}` };
  const stuck = stuckOf(gatewaySync);
  const says = rollout ? (rollout.message ?? rollout.summary) : (ready?.message ?? '');
  return { kind: 'waiting', says: `${what}: ${says}`, ...(stuck && { stuck }) };
}

/** Checks whether a commit has failed with this revision of spec.sync; after an edit, it's a new release. */
function isGivenUp(rollout: RolloutStatus, wanted: { commit: string; revision: string }): boolean {
  const { phase, commit, revision, givenUp = [] } = rollout;
  if (commit === wanted.commit && revision === wanted.revision) return GIVEN_UP.includes(phase);
  return givenUp.includes(`${wanted.commit} ${wanted.revision}`);
}

/** Explains why a resource doesn't handle a request. */
function obstacleOf(gatewaySync: GatewaySync, { id }: Asked, hub: GatewaySync | undefined): string | undefined {
  const { name, namespace, annotations } = (hub ?? gatewaySync).metadata;
  const source = gatewaySync.status?.conditions?.find(({ type }) => type === 'WebhookSource');
  if (hub && source?.status === 'False') return source.message;
  if (hub && annotations?.[REQUEST_ANNOTATIONS.requestedBy] === REFRESHED_BY)
    return `a sync of ${name} without --ref does not affect other resources; to move ${name} and all others, run kubectl stoker sync ${name} --ref REF --namespace ${namespace}`;
  if (!hub) return undefined;
  if (hub.spec.paused) return `${name} is paused; run kubectl stoker resume ${name} --namespace ${namespace}`;
  const { lastRequest } = hub.status ?? {};
  const isRefused = lastRequest?.id === id && lastRequest.outcome !== 'Applied' && lastRequest.outcome !== 'Pending';
  return isRefused ? `${name} does not follow it (${lastRequest.outcome}): ${lastRequest.message ?? ''}` : undefined;
}

function doneWords(gatewaySync: GatewaySync): string {
  const { total = 0, paused = 0, dryRun = 0 } = gatewaySync.status?.gateways ?? {};
  if (total === 0) return 'no gateways';
  const rest = paused + dryRun > 0 ? `, except ${paused + dryRun} paused or in a dry run` : '';
  return `${gatewaysOf(gatewaySync)} ${total === 1 ? 'has' : 'have'} it${rest}`;
}

/** Returns gateways that need a user's help; undefined while others are updating. */
function stuckOf({ status }: GatewaySync): string[] | undefined {
  const { discoveredGateways = [], gateways } = status ?? {};
  if (!gateways || status?.rollout || gateways.pending + gateways.skewed > 0) return undefined;
  const bad = discoveredGateways.filter(({ syncStatus }) => ['Error', 'MissingSidecar'].includes(syncStatus));
  return bad.length > 0 ? bad.map(({ name, syncStatus, message }) => `${name}: ${message ?? syncStatus}`) : undefined;
}

/** Returns gateways without the commit, and what each waits for. */
export function missingIn({ gateways }: Pick<ResourceView, 'gateways'>): string[] {
  return byNeed(gateways)
    .filter(({ status, waitsFor }) => status !== 'Synced' || waitsFor)
    .map(({ name, status, waitsFor }) => `${name}: ${waitsFor ?? status}`);
}

/** Returns the waves, or one bar with all gateways without a rollout. */
export function barsIn(view: Pick<ResourceView, 'rollout' | 'gateways' | 'counts' | 'commit' | 'basis'>): WaveView[] {
  const { rollout, counts, commit, basis } = view;
  if (rollout) return rollout.waves;
  const gateways = view.gateways.map((gateway) => ({
    name: gateway.name,
    pod: gateway.pod,
    look: lookOf(gateway, commit),
  }));
  const isDone = counts.synced === counts.total && gateways.every(({ look }) => look === 'new');
  return [{ name: 'all', state: isDone ? 'done' : 'underWay', ...(isWhole(basis) && { gateways }) }];
}

function lookOf(gateway: GatewayView, commit: string | undefined): Look {
  const { status } = gateway;
  if (status === 'Error' || status === 'MissingSidecar') return 'failed';
  if (status === 'Paused' || status === 'DryRun') return 'old';
  return status === 'Synced' && gateway.commit === commit ? 'new' : 'onItsWay';
}
