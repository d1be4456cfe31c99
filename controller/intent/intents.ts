import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { isCommitHash, isValidRefName } from '../../shared/domain/check-ref-name.ts';
import { isAcceptedRepository } from '../../shared/domain/delivered-repository.ts';
import { isSameRepository } from '../../shared/domain/repository.ts';
import type {
  ObservedGatewaySync,
  Origin,
  PushAnnotations,
  RequestAnnotations,
} from '../watch/observed-gateway-sync.ts';
import { refPrefixes } from './resolve-ref.ts';
import { LAST_TIME, readStatedTime } from './stated-time.ts';

export type Target = NonNullable<GatewaySyncStatus['target']>;

/** What somebody wants to be followed, and when they said so, in milliseconds since the epoch. */
export interface Wish {
  target: Target;
  at: number;
}

/** A request or a push that is not done yet. */
export type Open<TAnnotations> = TAnnotations & {
  /** When it was made, in milliseconds since the epoch. */
  madeAt: number;
  /** Why it is ignored, where that needs no look at the repository. */
  ignored: string | undefined;
};

/** All that a resource asks for; `foldIntents` says which of it counts. */
export interface Intents {
  /** `spec.git`: what the owner of the resource wants. */
  edit: Wish & { field: 'spec.git.ref' | 'spec.git.repo' };
  /** What is followed since a request or a push that is done. */
  kept: Wish | undefined;
  request: Open<RequestAnnotations> | undefined;
  push: Open<PushAnnotations> | undefined;
  /** The last push, if it was applied and nothing came after it. */
  donePush: Pick<Open<PushAnnotations>, 'ref' | 'madeAt'> | undefined;
}

/** Reads what a resource asks for. What came of it is in status, so a restart repeats and forgets nothing. */
export function readIntents(gatewaySync: ObservedGatewaySync): Intents {
  const { status, request, push, createdAt } = gatewaySync;
  const { lastRequest, lastPush } = status;
  const isDone = (annotations: RequestAnnotations, echo: EchoedRequest | undefined) =>
    status.observedRef !== undefined && echo?.outcome !== 'Pending' && sameAsEcho(annotations, echo);
  const openPush = push && !isDone(push, lastPush) ? open(gatewaySync, push) : undefined;
  const wasApplied = lastPush?.outcome === 'Applied' && !openPush;
  return {
    edit: editOf(gatewaySync),
    kept: keptOf(gatewaySync),
    request: request && !isDone(request, lastRequest) ? open(gatewaySync, request) : undefined,
    push: openPush,
    donePush: wasApplied
      ? { ref: lastPush.ref, madeAt: push ? timeOf(push, createdAt) : Number.POSITIVE_INFINITY }
      : undefined,
  };
}

type EchoedRequest = Partial<NonNullable<GatewaySyncStatus['lastRequest']>>;

function sameAsEcho({ ref, at, by, id, repo }: RequestAnnotations, echo: EchoedRequest | undefined): boolean {
  return echo?.ref === ref && echo.at === at && echo.by === by && echo.id === id && echo.repo === repo;
}

/** Older than everything: nobody edited `spec.git` since the resource was made. */
const NEVER = Number.NEGATIVE_INFINITY;

/**
 * managedFields only bounds the time of an edit from above, since it moves with each edit by the same person; so the
 * time at which it was first seen is kept in status.
 */
function editOf({ spec, status, createdAt, refWrittenAt, repoWrittenAt }: ObservedGatewaySync): Intents['edit'] {
  const { observedRef, observedRefTime } = status;
  const target: Target = { ref: spec.git.ref, source: 'Spec' };
  const field = isOtherRepository({ spec, status }) ? 'spec.git.repo' : 'spec.git.ref';
  if (observedRef === undefined) {
    const writtenAt = Math.max(refWrittenAt ?? NEVER, repoWrittenAt ?? NEVER);
    return { target, field, at: writtenAt > createdAt ? writtenAt : NEVER };
  }
  if (field === 'spec.git.ref' && observedRef === spec.git.ref)
    return { target, field, at: readStatedTime(observedRefTime ?? '') ?? NEVER };
  const times = [field === 'spec.git.repo' && repoWrittenAt, observedRef !== spec.git.ref && refWrittenAt];
  const known = times.filter((time) => typeof time === 'number');
  // An edit comes after all that was done without it, also where that was in the same second.
  return { target, field, at: Math.min(Math.max(createdAt, keptAt(status) + 1, ...known), LAST_TIME) };
}

/** A tag or a branch that was asked for in one repository means nothing in another. */
function keptOf({ spec, status }: Pick<ObservedGatewaySync, 'spec' | 'status'>): Intents['kept'] {
  const { target, observedRef } = status;
  if (!target || target.source === 'Spec' || observedRef === undefined) return undefined;
  return isOtherRepository({ spec, status }) ? undefined : { target, at: keptAt(status) };
}

function keptAt({ targetTime }: GatewaySyncStatus): number {
  return readStatedTime(targetTime ?? '') ?? NEVER;
}

function isOtherRepository({ spec, status }: Pick<ObservedGatewaySync, 'spec' | 'status'>): boolean {
  return status.observedRepo !== undefined && !isSameRepository(status.observedRepo, spec.git.repo);
}

const applied = 'the annotation was applied from a manifest; remove it there, and set spec.git.ref instead';
const stale = 'the annotation is older than this resource, which was restored or cloned with it';

function open<TAnnotations extends RequestAnnotations>(
  gatewaySync: ObservedGatewaySync,
  asked: TAnnotations & Origin,
): Open<TAnnotations> {
  const madeAt = timeOf(asked, gatewaySync.createdAt);
  return { ...asked, madeAt, ignored: whyIgnored(gatewaySync, { ...asked, madeAt }) };
}

function whyIgnored(
  { spec, status, createdAt }: ObservedGatewaySync,
  { applied: isApplied, madeAt, repo }: Origin & { madeAt: number; repo?: string },
): string | undefined {
  if (isApplied) return applied;
  if (status.observedRef === undefined && madeAt < createdAt) return stale;
  // The receiver's admission policy lets such a delivery through only if it isn't installed.
  if (repo !== undefined && !isAcceptedRepository(repo, spec)) return otherRepository(repo);
  return undefined;
}

/** Why a delivery about another repository is ignored, and what to do if it should not be. */
export const otherRepository = (repo: string): string =>
  `the delivery is about another repository, ${repo}; to accept its webhooks, add it to spec.webhook.repositories`;

/** The API server keeps whole seconds. */
const SECOND_MS = 1_000;

/**
 * When a request or a push was made: as it says itself, else when the API server stored it. No later than that in any
 * case, so that no clock that is ahead outdoes what comes after it.
 */
function timeOf({ at = '', writtenAt, notBefore = NEVER }: RequestAnnotations & Origin, createdAt: number): number {
  if (writtenAt === undefined) return createdAt;
  const made = readStatedTime(at) ?? writtenAt;
  return Math.min(Math.max(made, notBefore), writtenAt + SECOND_MS - 1);
}

/** Whether the status already says what came of this spec, request and push: nobody waits for it. */
export function isSettled({ generation, status }: ObservedGatewaySync, { request, push }: Intents): boolean {
  return status.observedGeneration === generation && !request && !push;
}

/** Whether the status says at least that this spec, request and push wait for the host: a retry is no news. */
export function isMentioned({ generation, status }: ObservedGatewaySync, { request, push }: Intents): boolean {
  const { observedGeneration, lastRequest, lastPush } = status;
  const requestWaits = !request || sameAsEcho(request, lastRequest);
  const pushWaits = !push || sameAsEcho(push, lastPush);
  return observedGeneration === generation && requestWaits && pushWaits;
}

/**
 * Identifies what must not be answered from memory: a request, a push, and, where no poll keeps the memory fresh, a
 * change of the spec. Undefined where there is nothing of the kind.
 */
export function eventOf(gatewaySync: ObservedGatewaySync, { request, push }: Intents): string | undefined {
  const { generation, spec, status } = gatewaySync;
  const change = spec.polling.enabled || status.observedGeneration === generation ? undefined : generation;
  if (!request && !push && change === undefined) return undefined;
  return JSON.stringify([request?.id, request?.ref, request?.at, request?.by, push?.ref, push?.at, change]);
}

/** What to query the git server for: refs by their full names, and a requested hash that isn't known to exist. */
export interface NeededRefs {
  prefixes: string[];
  commit: string | undefined;
}

export function neededRefs({ edit, kept, request, push }: Intents): NeededRefs {
  const refs = [edit.target.ref, kept?.target.ref, request?.ref, push?.ref];
  const names = refs.filter((ref) => ref !== undefined && isValidRefName(ref)) as string[];
  const isUnknownHash = request && isCommitHash(request.ref) && !pinnedHashes({ edit, kept }).has(request.ref);
  return {
    prefixes: [...new Set(names.flatMap(refPrefixes))],
    commit: isUnknownHash ? request.ref : undefined,
  };
}

/**
 * Full hashes that count as resolved without a query: the owner's own, which the agents fetch and report on, and one that
 * was found when it was requested.
 */
export function pinnedHashes({ edit, kept }: Pick<Intents, 'edit' | 'kept'>): Map<string, string> {
  const hashes = [edit.target.ref, kept?.target.ref ?? ''].filter(isCommitHash);
  return new Map(hashes.map((hash) => [hash, hash]));
}
