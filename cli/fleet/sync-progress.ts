import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { GIVEN_UP } from '../../shared/domain/releases.ts';
import { syncRevision } from '../../shared/domain/sync-revision.ts';
import type { Look, WavePicture } from '../terminal/bars.ts';
import type { Beyond } from './beyond.ts';
import { type ResourceView, resourceView } from './fleet.ts';
import { byNeed, type GatewayView, shortCommit } from './gateway.ts';
import { gatewaysOf } from './names.ts';
import type { WaveView } from './waves.ts';

/** A request that was made: what identifies it. */
export interface Asked {
  id: string;
  /** As the annotation has it. */
  at: string;
  ref: string;
  /** Whether nobody named a ref: what is followed is looked up again, which an ignored request does, too. */
  isRefresh: boolean;
}

/** How far a request is. */
export interface Progress {
  kind: 'waiting' | 'done' | 'failed';
  says: string;
  /** Those that do not have it, and why; nobody else is on the way any more. */
  stuck?: string[];
}

/** Judges how far a request is, by the resource as it is now. */
export function judgeProgress(gatewaySync: GatewaySync, asked: Asked): Progress {
  const { metadata, spec, status = {} } = gatewaySync;
  const { lastRequest, rollout, lastSyncCommit = '' } = status;
  if (metadata.annotations?.[REQUEST_ANNOTATIONS.requestId] !== asked.id)
    return {
      kind: 'failed',
      says: `replaced by a newer request for ${metadata.annotations?.[REQUEST_ANNOTATIONS.requestedRef]}`,
    };
  if (spec.paused) return { kind: 'failed', says: 'paused: the request waits until kubectl stoker resume' };
  if (lastRequest?.at !== asked.at || lastRequest.ref !== asked.ref)
    return { kind: 'waiting', says: 'waiting for the controller' };
  const { outcome, message = '' } = lastRequest;
  const isSettled = outcome === 'Applied' || (outcome === 'Ignored' && asked.isRefresh);
  if (outcome === 'Pending') return { kind: 'waiting', says: `querying the git server${message && `: ${message}`}` };
  if (!isSettled) return { kind: 'failed', says: `${asked.ref} was not applied (${outcome}): ${message}` };
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  // What is ignored does not move the target.
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

/** What was given up is a commit with a revision of spec.sync: after an edit, the same commit is something new. */
function isGivenUp(rollout: RolloutStatus, wanted: { commit: string; revision: string }): boolean {
  const { phase, commit, revision, givenUp = [] } = rollout;
  if (commit === wanted.commit && revision === wanted.revision) return GIVEN_UP.includes(phase);
  return givenUp.includes(`${wanted.commit} ${wanted.revision}`);
}

function doneWords(gatewaySync: GatewaySync): string {
  const { total = 0, paused = 0, dryRun = 0 } = gatewaySync.status?.gateways ?? {};
  if (total === 0) return 'no gateways';
  const rest = paused + dryRun > 0 ? `, except ${paused + dryRun} paused or in a dry run` : '';
  return `${gatewaysOf(gatewaySync)} ${total === 1 ? 'has' : 'have'} it${rest}`;
}

/** Those that do not have it, where only somebody's help brings it there; undefined while others are on the way. */
function stuckOf({ status }: GatewaySync): string[] | undefined {
  const { discoveredGateways = [], gateways } = status ?? {};
  if (!gateways || status?.rollout || gateways.pending + gateways.skewed > 0) return undefined;
  const bad = discoveredGateways.filter(({ syncStatus }) => ['Error', 'MissingSidecar'].includes(syncStatus));
  return bad.length > 0 ? bad.map(({ name, syncStatus, message }) => `${name}: ${message ?? syncStatus}`) : undefined;
}

/** Those that do not have it yet, and what each waits for. */
export function missingOf(gatewaySync: GatewaySync, beyond: Beyond): string[] {
  const { gateways } = resourceView(gatewaySync, beyond);
  return byNeed(gateways)
    .filter(({ status, waitsFor }) => status !== 'Synced' || waitsFor)
    .map(({ name, status, waitsFor }) => `${name}: ${waitsFor ?? status}`);
}

/** What the bars show: the waves, or all gateways at once where there are none. */
export function barsOf(gatewaySync: GatewaySync, beyond: Beyond): BarView[] {
  return barsIn(resourceView(gatewaySync, beyond));
}

/** A bar: a wave, and its gateways if they are known. */
export type BarView = Omit<WaveView, 'state'> & Pick<WavePicture, 'mark'>;

/** The same of a view that was made already. */
export function barsIn(view: Pick<ResourceView, 'rollout' | 'gateways' | 'counts' | 'commit'>): BarView[] {
  const { rollout, counts, commit } = view;
  if (rollout) return rollout.waves.map(({ state, ...wave }) => ({ ...wave, mark: state }));
  const gateways = view.gateways.map((gateway) => ({
    name: gateway.name,
    pod: gateway.pod,
    look: lookOf(gateway, commit),
  }));
  const isDone = counts.synced === counts.total && gateways.every(({ look }) => look === 'new');
  const isWhole = gateways.length >= counts.total;
  return [{ name: 'all', mark: isDone ? 'done' : 'underWay', ...(isWhole && { gateways }) }];
}

function lookOf(gateway: GatewayView, commit: string | undefined): Look {
  const { status } = gateway;
  if (status === 'Error' || status === 'MissingSidecar') return 'failed';
  if (status === 'Paused' || status === 'DryRun') return 'old';
  return status === 'Synced' && gateway.commit === commit ? 'new' : 'onItsWay';
}
