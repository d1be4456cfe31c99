import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REFRESHED_BY, REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { GIVEN_UP } from '../../shared/domain/releases.ts';
import { shellWord } from '../../shared/domain/shell-quote.ts';
import { syncRevision } from '../../shared/domain/sync-revision.ts';
import type { Look, WavePicture } from '../terminal/bars.ts';
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
  const isHandled = lastRequest?.at === asked.at && lastRequest.ref === asked.ref;
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

/** Explains why a resource never handles a request. */
function obstacleOf(gatewaySync: GatewaySync, { at, ref }: Asked, hub: GatewaySync | undefined): string | undefined {
  const { name, namespace, annotations } = (hub ?? gatewaySync).metadata;
  const source = gatewaySync.status?.conditions?.find(({ type }) => type === 'WebhookSource');
  if (hub && source?.status === 'False') return source.message;
  const next = (wanted: string) =>
    `to move ${hub ? `${name} and all others` : 'to it'}, run kubectl stoker sync ${name} --ref ${shellWord(wanted)} --namespace ${namespace}`;
  if (hub && annotations?.[REQUEST_ANNOTATIONS.requestedBy] === REFRESHED_BY)
    return `a sync of ${name} without --ref does not affect other resources; ${next('REF')}`;
  const starts = [['the last edit of spec.webhook.from', fromEditedAt(gatewaySync)]];
  if (hub) {
    starts.push([`GatewaySync ${name}, which was restored or cloned with it`, hub.metadata.creationTimestamp]);
    starts.push([`the last edit of spec.webhook.from of ${name}`, fromEditedAt(hub)]);
  }
  const start = starts.find(([, time = '']) => Date.parse(at) < Date.parse(time));
  return start && `the request is older than ${start[0]} (${start[1]}); ${next(ref)}`;
}

/** Returns the time that the controller ignores earlier requests from; undefined if it hasn't seen the last edit. */
const fromEditedAt = ({ spec, status }: GatewaySync): string | undefined =>
  status?.observedWebhookFrom === spec.webhook.from ? status?.observedWebhookFromTime : undefined;

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

/** A wave, with its gateways if they are known. */
export type BarView = Omit<WaveView, 'state'> & Pick<WavePicture, 'mark'>;

/** Returns the waves, or one bar with all gateways without a rollout. */
export function barsIn(view: Pick<ResourceView, 'rollout' | 'gateways' | 'counts' | 'commit' | 'basis'>): BarView[] {
  const { rollout, counts, commit, basis } = view;
  if (rollout) return rollout.waves.map(({ state, ...wave }) => ({ ...wave, mark: state }));
  const gateways = view.gateways.map((gateway) => ({
    name: gateway.name,
    pod: gateway.pod,
    look: lookOf(gateway, commit),
  }));
  const isDone = counts.synced === counts.total && gateways.every(({ look }) => look === 'new');
  return [{ name: 'all', mark: isDone ? 'done' : 'underWay', ...(isWhole(basis) && { gateways }) }];
}

function lookOf(gateway: GatewayView, commit: string | undefined): Look {
  const { status } = gateway;
  if (status === 'Error' || status === 'MissingSidecar') return 'failed';
  if (status === 'Paused' || status === 'DryRun') return 'old';
  return status === 'Synced' && gateway.commit === commit ? 'new' : 'onItsWay';
}
