import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { ObservedGatewaySync, PushAnnotations, RequestAnnotations } from '../watch/observed-gateway-sync.ts';
import type { Intents, Open, Target, Wish } from './intents.ts';
import { competes, judgePush, judgeRequest, type RefPolicy, type Verdict } from './judge-asked.ts';
import { nextLookInMs } from './look-again.ts';
import { type AdvertisedRefs, resolveRef } from './resolve-ref.ts';

/** What came of requests and pushes; what is not there stays as it was. */
export type Echo = Pick<GatewaySyncStatus, 'lastRequest' | 'lastPush'>;

/** What is to be followed, after the host was asked, and what became of the request and the push. */
export interface Fold {
  winner: Wish;
  echo: Echo;
  /** Milliseconds until the host is to be asked again for something that it does not show yet. */
  lookAgainInMs: number | undefined;
}

/**
 * The newest wins. There are at most four wishes: the edit of spec.git, what was followed before, a request and a
 * push. Those that may be followed and exist are put in the order of their times, and each takes the place of the one
 * before. What was said before is in status with its time, so it makes no difference which of them came together.
 */
export function foldIntents(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  refs: AdvertisedRefs,
  now: number,
): Fold {
  const policy = policyOf(gatewaySync, intents, refs);
  const request = intents.request && { asked: intents.request, verdict: judgeRequest(intents.request, policy, refs) };
  const push = intents.push && { asked: intents.push, verdict: judgePush(intents.push, policy, refs) };
  const wishes = [intents.edit, intents.kept, wishOf(push?.verdict), wishOf(request?.verdict)];
  const order = wishes.filter((wish) => wish !== undefined).sort(byTime);
  const winner = order.reduce((last, next) => follow(last, next, refs));
  const judged = { intents, order, winner, now };
  const [requested, pushed] = [request && endOf(request, judged), push && endOf(push, judged)];
  return {
    winner,
    echo: {
      ...displaced(gatewaySync, judged, policy),
      ...(request && requested ? { lastRequest: { ...requestFields(request.asked), ...requested.ending } } : {}),
      ...(push && pushed ? { lastPush: { ...pushFields(push.asked), ...pushed.ending } } : {}),
    },
    lookAgainInMs: least(requested?.lookAgainInMs, pushed?.lookAgainInMs),
  };
}

/** Of what was said in the same moment a request counts more than a push, and a push more than an edit. */
const ranks: Target['source'][] = ['Spec', 'Push', 'Request'];

function byTime(one: Wish, other: Wish): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1;
  return ranks.indexOf(one.target.source) - ranks.indexOf(other.target.source);
}

/** The next takes the place of the last; a push to the branch that is followed already only confirms it. */
function follow(last: Wish, next: Wish, refs: AdvertisedRefs): Wish {
  const confirms = next.target.source === 'Push' && qualify(last, refs) === next.target.ref;
  return confirms ? { ...last, at: next.at } : next;
}

function qualify(wish: Wish | undefined, refs: AdvertisedRefs): string | undefined {
  return wish && resolveRef(wish.target.ref, refs)?.qualifiedRef;
}

interface Judged {
  intents: Intents;
  /** What may be followed, the newest last. */
  order: Wish[];
  winner: Wish;
  now: number;
}

type Ending = Pick<NonNullable<GatewaySyncStatus['lastRequest']>, 'outcome' | 'message'>;

/** What becomes of a new request or push. */
function endOf(
  { asked, verdict }: { asked: Open<PushAnnotations>; verdict: Verdict },
  judged: Judged,
): { ending: Ending; lookAgainInMs?: number } {
  const { order, winner, now } = judged;
  if (verdict.kind === 'sync') return { ending: { outcome: 'Applied' } };
  if (verdict.kind === 'refused') return { ending: { outcome: verdict.outcome, message: verdict.message } };
  if (verdict.kind === 'accepted') {
    const holds = order.at(-1) === verdict.wish || winner.target === verdict.wish.target;
    return { ending: holds ? { outcome: 'Applied' } : superseded(judged) };
  }
  const nextInMs = nextLookInMs(asked.madeAt, now);
  if (nextInMs === undefined)
    return { ending: { outcome: 'Failed', message: `${verdict.message}; the last good commit stays` } };
  if (asked.madeAt < (order.at(-1) as Wish).at) return { ending: superseded(judged) };
  const message = `${verdict.message} yet: it is asked again for up to a minute, since some hosts send webhooks before they show a ref`;
  return { ending: { outcome: 'Pending', message }, lookAgainInMs: nextInMs };
}

/** The request and the push that were applied before, where something newer has taken their place now. */
function displaced({ status }: ObservedGatewaySync, judged: Judged, policy: RefPolicy): Echo {
  const { intents, order, winner } = judged;
  const { lastRequest, lastPush } = status;
  const { donePush } = intents;
  const requestHolds = intents.kept?.target.source === 'Request' && winner.target === intents.kept.target;
  const pushHolds = !donePush || !competes(donePush, policy) || order.at(-1) === intents.kept;
  return {
    ...(lastRequest?.outcome === 'Applied' && !requestHolds
      ? { lastRequest: { ...lastRequest, ...superseded(judged) } }
      : {}),
    ...(lastPush && !pushHolds ? { lastPush: { ...lastPush, ...superseded(judged) } } : {}),
  };
}

function superseded({ winner: { target }, intents }: Judged): Ending {
  const by = {
    Spec: `${intents.edit.of} was edited after this was asked for`,
    Request: `a newer request asks for ${target.ref}`,
    Push: `a newer push to ${target.ref} is followed`,
  };
  return { outcome: 'Superseded', message: by[target.source] };
}

function policyOf({ spec }: ObservedGatewaySync, { edit, kept }: Intents, refs: AdvertisedRefs): RefPolicy {
  const [specRef, keptRef] = [qualify(edit, refs), qualify(kept, refs)];
  return { allowedRefs: spec.webhook.allowedRefs, specRef, keptRef, editedAt: edit.at };
}

function wishOf(verdict: Verdict | undefined): Wish | undefined {
  return verdict?.kind === 'accepted' ? verdict.wish : undefined;
}

/** Echoes for a time in which nothing can be decided: paused, or the host has not answered. */
export function pendingEcho({ request, push }: Intents, message: string): Echo {
  const endingOf = ({ ignored }: Open<PushAnnotations>): Ending =>
    ignored ? { outcome: 'Ignored', message: ignored } : { outcome: 'Pending', message };
  return {
    ...(request ? { lastRequest: { ...requestFields(request), ...endingOf(request) } } : {}),
    ...(push ? { lastPush: { ...pushFields(push), ...endingOf(push) } } : {}),
  };
}

function requestFields({ ref, at, by, id }: RequestAnnotations): RequestAnnotations {
  return { ref, ...(at ? { at } : {}), ...(by ? { by } : {}), ...(id ? { id } : {}) };
}

function pushFields({ ref, at }: PushAnnotations): PushAnnotations {
  return { ref, ...(at ? { at } : {}) };
}

function least(...delays: (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
