import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import { REFRESHED_BY } from '../../shared/api/names.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { answersRange } from '../../shared/domain/git/answers-range.ts';
import { specRef } from '../../shared/domain/git/spec-ref.ts';
import { parseDuration } from '../../shared/domain/text/duration.ts';
import type { ObservedEvent } from '../client/gateway-objects.ts';
import { allGateways } from './all-gateways.ts';
import type { Beyond } from './beyond.ts';
import { shortCommit } from './messages.ts';
import { isBackwards } from './waves.ts';

type Status = NonNullable<GatewaySync['status']>;

/** One delivery from a webhook to the disks. `--output json` prints it. */
export interface TraceView {
  namespace: string;
  name: string;
  delivery: Delivery;
  /** Its commit, if known. */
  commit?: string;
  /** With spec.git.semver: the tag of the commit, and the range that it was chosen for. */
  followed?: { tag: string; range: string };
  /** Steps, timed by the clocks of the programs; `ms` is the time since the delivery. */
  moments: Moment[];
  /** Pending steps and missing data. */
  missing: string[];
}

/** A step of a delivery. */
interface Moment {
  step: 'Accepted' | 'Requested' | 'Annotated' | 'Found' | 'Resolved' | 'Handled' | 'Started' | 'Written' | 'Ready';
  what: string;
  at: string;
  ms: number;
  gateway?: string;
}

/** Words for steps that are missing. */
export const MISSING = {
  refused: (outcome: string | undefined, why = '') => `it was not applied (${outcome})${why && `: ${why}`}`,
  failed: (why = '') => `it failed${why && `: ${why}`}`,
  retried: () => 'the commit has been retried since, and all gateways may have it',
  same: () => 'no new commit: the previous commit is still the newest',
  events: () => 'not allowed to read events, which contain the times of the controller',
  waiting: (name: string, commit: string, summary: string) => `${name} still has ${commit}: ${summary}`,
  absent: (name: string, what: string, state: string, why = '') =>
    `${name} does not have ${what} (${state})${why && `: ${why}`}`,
  kept: (name: string, what: string) => `${name} keeps ${what}`,
  earlier: (name: string, what: string) => `${name} already had ${what}`,
  rolledBack: (count: number, commit: string) =>
    `${count === 1 ? '1 gateway was' : `${count} gateways were`} since rolled back to ${commit}`,
  unlisted: (count: number) => `the times of ${count} more gateways are not in the status, because its size is limited`,
};

/** Source of a sync: a webhook, a user, or a poll. */
export interface Delivery {
  kind: 'request' | 'push' | 'poll';
  ref: string;
  at: string;
  by?: string | undefined;
  id?: string | undefined;
  outcome?: string | undefined;
  message?: string | undefined;
}

/** Returns the last delivery of a GatewaySync; undefined if its ref was never resolved. */
export function lastDelivery({ spec, status = {} }: GatewaySync): Delivery | undefined {
  const { lastRequest, lastPush, lastSyncTime, target } = status;
  const asked: Delivery[] = [
    ...(lastRequest?.at ? [{ kind: 'request' as const, ...lastRequest, at: lastRequest.at }] : []),
    ...(lastPush?.at ? [{ kind: 'push' as const, ...lastPush, at: lastPush.at }] : []),
  ].filter(({ at }) => !Number.isNaN(Date.parse(at)));
  const [last] = asked.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  if (last) return last;
  return lastSyncTime ? { kind: 'poll', ref: target?.ref ?? specRef(spec.git), at: lastSyncTime } : undefined;
}

/**
 * Reconstructs the last delivery from status and events, and from the reports of the gateways that the status doesn't
 * list; undefined if there was none.
 */
export function traceView(
  gatewaySync: GatewaySync,
  events: readonly ObservedEvent[] | undefined,
  beyond: Beyond = {},
): TraceView | undefined {
  const last = lastDelivery(gatewaySync);
  if (!last) return undefined;
  const delivery = found(gatewaySync, last, events) ?? last;
  const { metadata, status = {} } = gatewaySync;
  const { lastSyncCommit: commit, lastSyncTime = '', rollout } = status;
  const gateways = allGateways(gatewaySync, beyond);
  const followed = followedIn(status);
  const what = followed ? `${followed.tag}, the newest tag in ${followed.range},` : delivery.ref;
  const start = Date.parse(delivery.at);
  const moments: TraceView['moments'] = [];
  const note: Noting['note'] = (step, what, at, gateway) => {
    const ms = Date.parse(at ?? '') - start;
    if (at && ms >= 0) moments.push({ step, what, at, ms, ...(gateway && { gateway }) });
  };
  const firstAfter = (isMeant: (event: ObservedEvent) => boolean) =>
    eventTimes(events, isMeant).find((time) => Date.parse(time) >= start);
  const refused = isRefused(delivery);
  const isKept = refused && !isGivenUp(delivery, status);
  const takenBack = gateways.filter((gateway) => isTakenBack(gateway, rollout));
  const without = gateways
    .filter((gateway) => !isTakenBack(gateway, rollout))
    .flatMap((gateway) => noteGateway(gateway, { note, commit, start, isKept, rollout }) ?? []);
  // The status has a resolution of one second. The event is more precise, but is written after the status, and gateways
  // act on the status.
  const resolvedAt = eventTimes(events, (event) => isResolved(event, commit)).at(-1) ?? lastSyncTime;
  const isOlder = Date.parse(resolvedAt) + SECOND_MS <= start;
  const [first = resolvedAt] = [resolvedAt, ...moments.map(({ at }) => at)].sort(byTime);
  // The receiver's clock can be ahead of the controller's.
  const resolvedBy = !isOlder && Date.parse(first) < start ? delivery.at : first;
  note(...beginningOf(delivery), delivery.at);
  if (delivery.kind !== 'poll') {
    note('Resolved', `the controller resolved ${what}${commit ? ` as ${shortCommit(commit)}` : ''}`, resolvedBy);
    const reason = `${delivery.kind}${delivery.outcome}`.toLowerCase();
    const handled = firstAfter((event) => event.reason.toLowerCase() === reason);
    note('Handled', `the controller handled it: ${delivery.outcome}`, handled);
  }
  // After a failed commit, gateways may be ready with a different one.
  if (!refused)
    note(
      'Ready',
      'Ready: all gateways have it',
      firstAfter(({ reason }) => reason === 'Synced'),
    );
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    delivery,
    ...(commit && { commit }),
    ...(followed && { followed }),
    moments: moments.sort((a, b) => a.ms - b.ms || rankOf(a) - rankOf(b)),
    missing: [
      ...missingOf(delivery, { isOlder, events, status }),
      ...takenBackWords(takenBack.length, rollout),
      ...without,
      ...unnamedWords(status, gateways.length),
    ],
  };
}

/** Returns the poll that found a newer commit after a handled delivery, or undefined. */
function found(
  { spec, status = {} }: GatewaySync,
  { kind, outcome, at }: Delivery,
  events: readonly ObservedEvent[] | undefined,
): Delivery | undefined {
  const { lastSyncTime = '', target } = status;
  const reason = `${kind}${outcome}`.toLowerCase();
  const isHandled = (event: ObservedEvent) => event.reason.toLowerCase() === reason;
  const handled = eventTimes(events, isHandled).find((time) => Date.parse(time) >= Date.parse(at));
  const isLater = Date.parse(lastSyncTime) > Date.parse(handled ?? '') + SECOND_MS;
  return isLater ? { kind: 'poll', ref: target?.ref ?? specRef(spec.git), at: lastSyncTime } : undefined;
}

/** Ranks steps of the same millisecond: the start first, gateways last. */
function rankOf({ gateway, ms }: TraceView['moments'][number]): number {
  if (gateway) return 1;
  return ms === 0 ? -1 : 0;
}

const isResolved = ({ reason, message = '' }: ObservedEvent, commit = ''): boolean =>
  (reason === 'RefResolved' && message.includes(` is ${shortCommit(commit)}`)) ||
  (reason === 'TagMoved' && message.endsWith(` to ${commit}`));

function followedIn({ target }: Status): TraceView['followed'] {
  return target?.range === undefined ? undefined : { tag: target.ref, range: target.range };
}

const isRefused = ({ outcome }: Pick<Delivery, 'outcome'>): boolean => outcome !== undefined && outcome !== 'Applied';

/** Checks whether the commit is from a request that failed after its resolution. */
function isGivenUp({ kind, ref, id, outcome }: Delivery, { target, lastSyncCommit }: Status): boolean {
  if (kind !== 'request' || outcome !== 'Failed' || !target) return false;
  if (target.range !== undefined) return answersRange(ref, target, lastSyncCommit);
  return target.source === 'Request' && target.ref === ref && target.requestId === id;
}

const isTakenBack = ({ syncedCommit }: DiscoveredGateway, rollout: Status['rollout']): boolean =>
  rollout !== undefined &&
  isBackwards(rollout) &&
  syncedCommit === rollout.stableCommit &&
  syncedCommit !== rollout.commit;

function takenBackWords(count: number, { stableCommit = '' }: Partial<RolloutStatus> = {}): string[] {
  return count === 0 ? [] : [MISSING.rolledBack(count, shortCommit(stableCommit))];
}

function unnamedWords({ gateways }: Status, named: number): string[] {
  const count = (gateways?.total ?? 0) - named;
  return count > 0 ? [MISSING.unlisted(count)] : [];
}

function missingOf(
  delivery: Delivery,
  { isOlder, events, status }: { isOlder: boolean; events: readonly ObservedEvent[] | undefined; status: Status },
): string[] {
  const { outcome, message } = delivery;
  const { rollout, lastSyncCommit } = status;
  const refused = isRefused({ outcome });
  const wasTried = isGivenUp(delivery, status);
  const isBackAgain = wasTried && rollout?.phase === 'Complete' && rollout.stableCommit === lastSyncCommit;
  return [
    ...(refused ? [wasTried ? MISSING.failed(message) : MISSING.refused(outcome, message)] : []),
    ...(isBackAgain ? [MISSING.retried()] : []),
    ...(!refused && isOlder ? [MISSING.same()] : []),
    ...(events ? [] : [MISSING.events()]),
  ];
}

function beginningOf({ kind, ref, by }: Delivery): [step: Moment['step'], what: string] {
  if (kind === 'poll') return ['Found', `the controller found a new commit of ${ref} without a webhook`];
  if (by === 'manual') return ['Annotated', `a user requested ${ref} with an annotation`];
  if (by === 'kubectl-stoker' || by === REFRESHED_BY) return ['Requested', `a user requested ${ref}`];
  return ['Accepted', `the receiver accepted the webhook: ${ref}${by ? ` from ${by}` : ''}`];
}

interface Noting {
  note: (step: Moment['step'], what: string, at: string | undefined, gateway?: string) => void;
  commit: string | undefined;
  start: number;
  /** The commit isn't from this delivery. */
  isKept: boolean;
  rollout: Status['rollout'];
}

/** Adds the steps of a gateway; returns a description of missing ones. */
function noteGateway(gateway: DiscoveredGateway, { note, commit, start, isKept, rollout }: Noting): string | undefined {
  const { name, syncedCommit, lastSyncTime = '', lastSyncDuration = '', syncStatus, message } = gateway;
  const end = Date.parse(lastSyncTime);
  const what = commit ? shortCommit(commit) : 'it';
  const waits = rollout && syncStatus === 'Synced' && syncedCommit !== undefined && syncedCommit !== commit;
  if (waits) return MISSING.waiting(name, shortCommit(syncedCommit), rollout.summary);
  if (syncedCommit !== commit || Number.isNaN(end)) return MISSING.absent(name, what, syncStatus, message);
  if (end < start) return isKept ? MISSING.kept(name, what) : MISSING.earlier(name, what);
  const took = parseDuration(lastSyncDuration);
  // The receiver's clock can be ahead of the agent's: no step starts before the delivery.
  if (took !== undefined)
    note('Started', `${name} started the sync`, new Date(Math.max(start, end - took)).toISOString(), name);
  note('Written', `${name} has it on disk`, lastSyncTime, name);
  return undefined;
}

const byTime = (a: string, b: string): number => Date.parse(a) - Date.parse(b);

/** Resolution of times in the status (ms). */
const SECOND_MS = 1_000;

/** Returns the times of matching events in ascending order. */
function eventTimes(events: readonly ObservedEvent[] = [], isMeant: (event: ObservedEvent) => boolean): string[] {
  const times = events.filter(isMeant).map(({ eventTime, lastTimestamp }) => eventTime ?? lastTimestamp ?? '');
  return times.filter(Boolean).sort(byTime);
}
