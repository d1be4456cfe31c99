import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { isAcceptedRepository } from '../../shared/domain/git/delivered-repository.ts';
import { isSameRepository } from '../../shared/domain/git/repository.ts';
import { isObservedRef, isSameRange, specRef, specRefField } from '../../shared/domain/git/spec-ref.ts';
import type { RecordedRequest } from '../../shared/domain/kubernetes/recorded-request.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { TagRange } from '../polling/version-tags.ts';
import { isSameRequest, type ObservedGatewaySync, type Origin } from '../watch/observed-gateway-sync.ts';
import { type FindGatewaySync, type Hub, hubOf } from './hub.ts';

export type FollowedRef = NonNullable<GatewaySyncStatus['target']>;

/** A ref that is to be followed, and when that was requested (ms since the epoch). */
export interface Intent {
  target: FollowedRef;
  at: number;
}

/** A request or a push that isn't done yet. */
export interface OpenIntent extends RecordedRequest {
  /** When it was made (ms since the epoch). */
  madeAt: number;
  /** Why it is ignored, if that can be decided without the repository. */
  ignored: string | undefined;
}

/** All intents of a resource; `resolve` selects one. */
export interface Intents {
  /** `spec.git`, as the owner of the resource wrote it. */
  edit: Intent & { field: 'spec.git.ref' | 'spec.git.semver' | 'spec.git.repo' };
  /** `spec.git.semver` with `spec.git.tagPrefix`, and the tag that is followed for them. */
  range: (TagRange & { keptTag: string | undefined }) | undefined;
  /** Result of an earlier request or push. */
  kept: Intent | undefined;
  /** The resource whose requests count; undefined without `spec.webhook.from`. */
  hub: Hub | undefined;
  request: OpenIntent | undefined;
  push: OpenIntent | undefined;
  /** The last push, if it was applied and nothing superseded it. */
  donePush: Pick<OpenIntent, 'ref' | 'madeAt'> | undefined;
}

/** Reads the intents of a resource. Their outcomes are in the status, so a restart neither repeats nor forgets one. */
export function readIntents(gatewaySync: ObservedGatewaySync, find: FindGatewaySync = () => undefined): Intents {
  const { status, push } = gatewaySync;
  const { lastPush } = status;
  const openPush = push && !isDone(push, lastPush, status) ? open(gatewaySync, push, lastPush) : undefined;
  const hub = hubOf(gatewaySync, find);
  const { semver, tagPrefix = '' } = gatewaySync.spec.git;
  const wasApplied = lastPush?.outcome === 'Applied' && !openPush;
  return {
    edit: editOf(gatewaySync),
    range: semver === undefined ? undefined : { text: semver, prefix: tagPrefix, keptTag: keptTag(gatewaySync) },
    kept: keptOf(gatewaySync),
    hub,
    request: requestOf(gatewaySync, hub),
    push: openPush,
    donePush: wasApplied
      ? { ref: lastPush.ref, madeAt: push ? madeAtOf(push, lastPush) : Number.POSITIVE_INFINITY }
      : undefined,
  };
}

/** Returns the open request of a resource, or of its hub. */
function requestOf(gatewaySync: ObservedGatewaySync, hub: Hub | undefined): Intents['request'] {
  if (hub?.kind === 'problem') return undefined;
  const { status, request: own } = gatewaySync;
  const { lastRequest } = status;
  const request = hub ? requestOfHub(hub.gatewaySync) : own && open(gatewaySync, own, lastRequest);
  return request && !isDone(request, lastRequest, status) ? request : undefined;
}

/** The ref that a hub follows, if that was requested, with the time of the request. */
function requestOfHub({ spec, status }: ObservedGatewaySync): Intents['request'] {
  const { ref, requestId: id, requestedAt: at } = status.target ?? {};
  const madeAt = readStatedTime(at ?? '');
  if (ref === undefined || madeAt === undefined || isOtherRepository({ spec, status })) return undefined;
  return { ref, ...withoutUndefined({ id, at }), madeAt, ignored: undefined };
}

function isDone(annotations: RecordedRequest, echo: EchoedRequest | undefined, status: GatewaySyncStatus): boolean {
  return !isUnseen(status) && echo?.outcome !== 'Pending' && sameAsEcho(annotations, echo);
}

type EchoedRequest = Partial<NonNullable<GatewaySyncStatus['lastRequest']>>;

const sameAsEcho = (annotations: RecordedRequest, echo: EchoedRequest = {}): boolean =>
  isSameRequest(annotations, echo);

/** Older than any time: `spec.git` was never edited. */
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * Reads the edit of `spec.git`. Its time is when the watch delivered it; the status keeps this time for other replicas.
 */
function editOf({ generation, spec, status, editSeenAt = NEVER }: ObservedGatewaySync): Intents['edit'] {
  const keptEditAt = readStatedTime(status.observedRefTime ?? '');
  const target: FollowedRef = { ref: specRef(spec.git), source: 'Spec' };
  const field = isOtherRepository({ spec, status }) ? 'spec.git.repo' : specRefField(spec.git);
  const isSameRef = isObservedRef(status, spec.git);
  if (isUnseen(status)) {
    // Another replica may have seen it before, and not have resolved it.
    const isKnown = status.observedGeneration === generation;
    return { target, field, at: isKnown ? (keptEditAt ?? NEVER) : editSeenAt };
  }
  const isSame = field !== 'spec.git.repo' && isSameRef;
  if (isSame || status.observedGeneration === generation) return { target, field, at: keptEditAt ?? NEVER };
  // An edit follows everything that was done without it.
  return { target, field, at: Math.min(Math.max(keptAt(status) + 1, editSeenAt), LAST_TIME) };
}

/** The tag that the status names for this range and repository. */
function keptTag({ spec, status }: ObservedGatewaySync): string | undefined {
  const { target } = status;
  const isKept = spec.git.semver !== undefined && target && isSameRange(target, spec.git);
  return isKept && !isOtherRepository({ spec, status }) ? target.ref : undefined;
}

/** A tag or a branch requested in one repository has no meaning in another. */
function keptOf({ spec, status }: Pick<ObservedGatewaySync, 'spec' | 'status'>): Intents['kept'] {
  const { target } = status;
  if (!target || target.source === 'Spec' || isUnseen(status)) return undefined;
  if (spec.git.semver !== undefined) return undefined;
  return isOtherRepository({ spec, status }) ? undefined : { target, at: keptAt(status) };
}

/** Whether no controller has seen a spec yet, or the status was lost. */
function isUnseen({ observedRef, observedSemver }: GatewaySyncStatus): boolean {
  return observedRef === undefined && observedSemver === undefined;
}

function keptAt({ targetTime }: GatewaySyncStatus): number {
  return readStatedTime(targetTime ?? '') ?? NEVER;
}

function isOtherRepository({ spec, status }: Pick<ObservedGatewaySync, 'spec' | 'status'>): boolean {
  return status.observedRepo !== undefined && !isSameRepository(status.observedRepo, spec.git.repo);
}

const applied = 'the annotation was applied from a manifest; remove it there, and set spec.git.ref instead';
const stale = 'the annotation is older than this resource, which was restored or cloned with it';

function open(
  gatewaySync: ObservedGatewaySync,
  asked: RecordedRequest & Origin,
  echo: EchoedRequest | undefined,
): OpenIntent {
  const madeAt = madeAtOf(asked, echo);
  return { ...asked, madeAt, ignored: whyIgnored(gatewaySync, { ...asked, madeAt }) };
}

function whyIgnored(
  { spec, status, createdAt }: ObservedGatewaySync,
  { applied: isApplied, at = '', madeAt, repo }: RecordedRequest & Origin & { madeAt: number },
): string | undefined {
  if (isApplied) return applied;
  // If the ref was edited in a copy, the time is still that of the original.
  if (isUnseen(status) && (readStatedTime(at) ?? madeAt) < createdAt) return stale;
  // The receiver's admission policy prevents this, but it may not be installed.
  if (repo !== undefined && !isAcceptedRepository(repo, spec)) return otherRepository(repo);
  return undefined;
}

/** Explains why a delivery about another repository is ignored, and how to accept it. */
export const otherRepository = (repo: string): string =>
  `the delivery is about another repository, ${repo}; to accept its webhooks, add it to spec.webhook.repositories`;

/**
 * When a request or a push was made: its stated time, but never later than the watch delivered it, so that a clock that is
 * ahead can't override later ones. If it was edited, the stated time belongs to an earlier one.
 */
function madeAtOf(asked: RecordedRequest & Origin, echo: EchoedRequest = {}): number {
  const isHandled = sameAsEcho(asked, echo);
  const keptTime = isHandled ? readStatedTime(echo.seenAt ?? '') : undefined;
  if (keptTime !== undefined) return keptTime;
  const isEdited = asked.edited === true || (!isHandled && identityOf(asked) === identityOf(echo));
  const stated = isEdited ? undefined : readStatedTime(asked.at ?? '');
  return Math.min(stated ?? asked.seenAt, asked.seenAt);
}

/** The part of a request that an edit of its ref leaves unchanged. */
const identityOf = ({ id, at }: Pick<EchoedRequest, 'id' | 'at'>): string | undefined => id ?? at;

/** Whether the status contains the outcomes of this spec, request, and push. */
export function isSettled({ generation, status }: ObservedGatewaySync, { request, push }: Intents): boolean {
  return status.observedGeneration === generation && !request && !push;
}

/** Whether the status shows that this spec, request, and push are pending, so a retry changes nothing. */
export function isMentioned({ generation, status }: ObservedGatewaySync, { request, push }: Intents): boolean {
  const { observedGeneration, lastRequest, lastPush } = status;
  const requestWaits = !request || sameAsEcho(request, lastRequest);
  const pushWaits = !push || sameAsEcho(push, lastPush);
  return observedGeneration === generation && requestWaits && pushWaits;
}

/**
 * Identifies an event that requires a new query: a request, a push or, if no poll refreshes the cache, a change of the
 * spec. Undefined if there is none.
 */
export function eventOf(gatewaySync: ObservedGatewaySync, { request, push }: Intents): string | undefined {
  const { generation, spec, status } = gatewaySync;
  const change = spec.polling.enabled || status.observedGeneration === generation ? undefined : generation;
  if (!request && !push && change === undefined) return undefined;
  return JSON.stringify([request?.id, request?.ref, request?.at, request?.by, push?.ref, push?.at, change]);
}

/** RFC 3339. */
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

const FIRST = Date.parse('0001-01-01T00:00:00Z');

/** The last time that the API server stores (ms since the epoch). */
export const LAST_TIME = Date.parse('9999-12-31T23:59:59.999Z');

/**
 * Reads a time stated by a user (ms since the epoch). Undefined for an invalid one, or one outside the years 1 to 9999
 * (an offset can cause that), because the API server would refuse the whole status.
 */
export function readStatedTime(text: string): number | undefined {
  const time = STAMP.test(text) ? Date.parse(text) : Number.NaN;
  return time >= FIRST && time <= LAST_TIME ? time : undefined;
}
