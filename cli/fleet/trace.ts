import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { DiscoveredGateway } from '../../shared/api/gateway-sync-status.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { parseDuration } from '../../shared/domain/duration.ts';
import { shortCommit } from './gateway.ts';
import { isBackwards } from './waves.ts';

type Status = NonNullable<GatewaySync['status']>;

/** One delivery on its way from a webhook to the disks. Plain data: it is what `--output json` prints. */
export interface TraceView {
  namespace: string;
  name: string;
  delivery: Delivery;
  /** The commit that it led to, as far as that is still known. */
  commit?: string;
  /** What happened, by the clocks of the programs that did it; `ms` counts from the delivery. */
  moments: { what: string; at: string; ms: number; gateway?: string }[];
  /** What is not there yet, and what is not known any more. */
  missing: string[];
}

/** Where a sync came from: a webhook or a person, or a look at the repository that nobody asked for. */
export interface Delivery {
  kind: 'request' | 'push' | 'poll';
  ref: string;
  at: string;
  by?: string | undefined;
  id?: string | undefined;
  outcome?: string | undefined;
  message?: string | undefined;
}

/** An event about the GatewaySync, as far as it matters here. */
export interface ObservedEvent {
  reason: string;
  /** RFC 3339 with microseconds. */
  eventTime?: string | null;
  lastTimestamp?: string | null;
  message?: string;
}

/** The last delivery of a GatewaySync; undefined where nothing was ever resolved. */
export function lastDelivery({ spec, status = {} }: GatewaySync): Delivery | undefined {
  const { lastRequest, lastPush, lastSyncTime, target } = status;
  const asked: Delivery[] = [
    ...(lastRequest?.at ? [{ kind: 'request' as const, ...lastRequest, at: lastRequest.at }] : []),
    ...(lastPush?.at ? [{ kind: 'push' as const, ...lastPush, at: lastPush.at }] : []),
  ].filter(({ at }) => !Number.isNaN(Date.parse(at)));
  const [last] = asked.sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
  if (last) return last;
  return lastSyncTime ? { kind: 'poll', ref: target?.ref ?? spec.git.ref, at: lastSyncTime } : undefined;
}

/** What status, reports and events still say of the last delivery; undefined where there was none. */
export function traceView(
  gatewaySync: GatewaySync,
  events: readonly ObservedEvent[] | undefined,
): TraceView | undefined {
  const last = lastDelivery(gatewaySync);
  if (!last) return undefined;
  const delivery = found(gatewaySync, last, events) ?? last;
  const { metadata, status = {} } = gatewaySync;
  const { lastSyncCommit: commit, lastSyncTime = '', discoveredGateways = [], rollout } = status;
  const start = Date.parse(delivery.at);
  const moments: TraceView['moments'] = [];
  const note = (what: string, at: string | undefined, gateway?: string) => {
    const ms = Date.parse(at ?? '') - start;
    if (at && ms >= 0) moments.push({ what, at, ms, ...(gateway && { gateway }) });
  };
  const firstAfter = (isMeant: (event: ObservedEvent) => boolean) =>
    eventTimes(events, isMeant).find((time) => Date.parse(time) >= start);
  const refused = isRefused(delivery);
  const isKept = refused && !isGivenUp(delivery, status);
  const takenBack = discoveredGateways.filter((gateway) => isTakenBack(gateway, rollout));
  const without = discoveredGateways
    .filter((gateway) => !takenBack.includes(gateway))
    .flatMap((gateway) => noteGateway(gateway, { note, commit, start, isKept, rollout }) ?? []);
  // The status keeps whole seconds. The event has more, and is written after the status, which gateways act on.
  const resolvedAt = eventTimes(events, (event) => isResolved(event, commit)).at(-1) ?? lastSyncTime;
  const isOlder = Date.parse(resolvedAt) + SECOND_MS <= start;
  const [first = resolvedAt] = [resolvedAt, ...moments.map(({ at }) => at)].sort(byTime);
  // The clock of the receiver may be ahead of the controller's, too.
  const resolvedBy = !isOlder && Date.parse(first) < start ? delivery.at : first;
  note(beginningOf(delivery), delivery.at);
  if (delivery.kind !== 'poll') {
    note(`the controller resolved ${delivery.ref}${commit ? ` as ${shortCommit(commit)}` : ''}`, resolvedBy);
    const reason = `${delivery.kind}${delivery.outcome}`.toLowerCase();
    const handled = firstAfter((event) => event.reason.toLowerCase() === reason);
    note(`the controller handled it: ${delivery.outcome}`, handled);
  }
  // After a commit that failed, gateways may have become ready with another one.
  if (!refused)
    note(
      'Ready: all gateways have it',
      firstAfter(({ reason }) => reason === 'Synced'),
    );
  return {
    namespace: metadata.namespace,
    name: metadata.name,
    delivery,
    ...(commit && { commit }),
    moments: moments.sort((a, b) => a.ms - b.ms || rankOf(a) - rankOf(b)),
    missing: [
      ...missingOf(delivery, { isOlder, events, status }),
      ...takenBackWords(takenBack.length, rollout),
      ...without,
      ...unnamedWords(status),
    ],
  };
}

/** The poll that found a newer commit after a delivery was handled; undefined where none did, or events do not say. */
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
  return isLater ? { kind: 'poll', ref: target?.ref ?? spec.git.ref, at: lastSyncTime } : undefined;
}

/** Of what happened in the same millisecond, the beginning comes first, and gateways last. */
function rankOf({ gateway, ms }: TraceView['moments'][number]): number {
  if (gateway) return 1;
  return ms === 0 ? -1 : 0;
}

const isResolved = ({ reason, message = '' }: ObservedEvent, commit = ''): boolean =>
  reason === 'RefResolved' && message.includes(` is ${shortCommit(commit)}`);

const isRefused = ({ outcome }: Pick<Delivery, 'outcome'>): boolean => outcome !== undefined && outcome !== 'Applied';

/** Whether the commit came of a request that failed after it was resolved. */
const isGivenUp = ({ kind, ref, id, outcome }: Delivery, { target }: Status): boolean =>
  kind === 'request' &&
  outcome === 'Failed' &&
  target?.source === 'Request' &&
  target.ref === ref &&
  target.requestId === id;

const isTakenBack = ({ syncedCommit }: DiscoveredGateway, rollout: Status['rollout']): boolean =>
  rollout !== undefined &&
  isBackwards(rollout) &&
  syncedCommit === rollout.stableCommit &&
  syncedCommit !== rollout.commit;

function takenBackWords(count: number, { stableCommit = '' }: Partial<RolloutStatus> = {}): string[] {
  if (count === 0) return [];
  const gateways = count === 1 ? '1 gateway was' : `${count} gateways were`;
  return [`${gateways} since rolled back to ${shortCommit(stableCommit)}`];
}

function unnamedWords({ gateways, discoveredGateways = [] }: Status): string[] {
  const count = (gateways?.total ?? 0) - discoveredGateways.length;
  return count > 0 ? [`the times of ${count} more gateways are not in the status, because its size is limited`] : [];
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
  const verdict = wasTried ? 'it failed' : `it was not applied (${outcome})`;
  return [
    ...(refused ? [`${verdict}${message ? `: ${message}` : ''}`] : []),
    ...(isBackAgain ? ['the commit has been retried since, and all gateways may have it'] : []),
    ...(!refused && isOlder ? ['no new commit: the previous commit is still the newest'] : []),
    ...(events ? [] : ['not allowed to read events, which contain the times of the controller']),
  ];
}

function beginningOf({ kind, ref, by }: Delivery): string {
  if (kind === 'poll') return `the controller found a new commit of ${ref} without a webhook`;
  if (by === 'kubectl-stoker' || by === 'manual')
    return `a user requested ${ref}${by === 'manual' ? ' with an annotation' : ''}`;
  return `the receiver accepted the webhook: ${ref}${by ? ` from ${by}` : ''}`;
}

interface Noting {
  note: (what: string, at: string | undefined, gateway?: string) => void;
  commit: string | undefined;
  start: number;
  /** The commit did not come of the delivery. */
  isKept: boolean;
  rollout: Status['rollout'];
}

/** Notes when a gateway began and ended; gives what is missing there. */
function noteGateway(gateway: DiscoveredGateway, { note, commit, start, isKept, rollout }: Noting): string | undefined {
  const { name, syncedCommit, lastSyncTime = '', lastSyncDuration = '', syncStatus, message } = gateway;
  const end = Date.parse(lastSyncTime);
  const what = commit ? shortCommit(commit) : 'it';
  const waits = rollout && syncStatus === 'Synced' && syncedCommit !== undefined && syncedCommit !== commit;
  if (waits) return `${name} still has ${shortCommit(syncedCommit)}: ${rollout.summary}`;
  if (syncedCommit !== commit || Number.isNaN(end))
    return `${name} does not have ${what} (${syncStatus})${message ? `: ${message}` : ''}`;
  if (end < start) return isKept ? `${name} keeps ${what}` : `${name} already had ${what}`;
  const took = parseDuration(lastSyncDuration);
  // The receiver's time may be ahead of the agent's: nothing begins before what it is about.
  if (took !== undefined) note(`${name} started the sync`, new Date(Math.max(start, end - took)).toISOString(), name);
  note(`${name} has it on disk`, lastSyncTime, name);
  return undefined;
}

const byTime = (a: string, b: string): number => Date.parse(a) - Date.parse(b);

/** As long as the status rounds off. */
const SECOND_MS = 1_000;

/** Times of events, the first one first. */
function eventTimes(events: readonly ObservedEvent[] = [], isMeant: (event: ObservedEvent) => boolean): string[] {
  const times = events.filter(isMeant).map(({ eventTime, lastTimestamp }) => eventTime ?? lastTimestamp ?? '');
  return times.filter(Boolean).sort(byTime);
}
