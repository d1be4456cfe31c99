import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { earliest } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { ObservedGatewaySync, PushAnnotations, RequestAnnotations } from '../watch/observed-gateway-sync.ts';
import type { Intents, Open, Wish } from './intents.ts';
import { competes, type Judgement, type RefPolicy } from './judge-event.ts';
import { nextQueryInMs } from './next-query.ts';
import { readStatedTime } from './stated-time.ts';

/** Outcomes of requests and pushes; absent fields stay unchanged. */
export type Echo = Pick<GatewaySyncStatus, 'lastRequest' | 'lastPush'>;

export interface Outcomes {
  echo: Echo;
  /** Time until the git server is queried again for a ref that it doesn't show yet (ms). */
  requeryInMs: number | undefined;
}

/** Facts about the intents of a resource. */
interface JudgedIntents {
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  policy: RefPolicy;
  /** About the new request and the new push. */
  request: Judgement | undefined;
  push: Judgement | undefined;
  /** Allowed wishes, the newest last. */
  order: Wish[];
  winner: Wish;
  now: number;
}

export type Ending = Pick<NonNullable<GatewaySyncStatus['lastRequest']>, 'outcome' | 'reason' | 'message'>;

/** Returns the outcomes of the request and the push, whether new or applied before. */
export function outcomesOf(judged: JudgedIntents): Outcomes {
  const { request, push } = judged.intents;
  const requested = request && judged.request && outcomeOf(request, judged.request, judged);
  const pushed = push && judged.push && outcomeOf(push, judged.push, judged);
  return {
    echo: {
      ...displaced(judged),
      ...(requested && { lastRequest: { ...requestFields(request), ...requested.ending } }),
      ...(pushed && { lastPush: { ...pushFields(push), ...pushed.ending } }),
    },
    requeryInMs: earliest(requested?.requeryInMs, pushed?.requeryInMs),
  };
}

/** Returns the outcome of a new request or push. */
function outcomeOf(
  asked: Open<PushAnnotations>,
  verdict: Judgement,
  judged: JudgedIntents,
): { ending: Ending; requeryInMs?: number } {
  const { order, winner, now } = judged;
  if (verdict.kind === 'sync') return { ending: { outcome: 'Applied' } };
  if (verdict.kind === 'refused') return { ending: { outcome: verdict.outcome, message: verdict.message } };
  if (verdict.kind === 'accepted') {
    const holds = order.at(-1) === verdict.wish || isFollowed(verdict.wish, winner);
    return { ending: holds ? { outcome: 'Applied' } : superseded(judged) };
  }
  const nextInMs = nextQueryInMs(asked.madeAt, now);
  const advice = verdict.advice ? `; ${verdict.advice}` : '';
  if (nextInMs === undefined)
    return { ending: { outcome: 'Failed', message: `${verdict.message}${advice}; the last good commit is kept` } };
  if (asked.madeAt < (order.at(-1) as Wish).at) return { ending: superseded(judged) };
  const message = `${verdict.message} yet; retrying for up to a minute, because some git servers send webhooks before they show a ref${advice}`;
  return { ending: { outcome: 'Pending', message }, requeryInMs: nextInMs };
}

/** Whether a wish is followed. A late push to a branch that is followed because of a newer push only confirms it. */
const isFollowed = ({ target }: Wish, winner: Wish): boolean =>
  winner.target === target ||
  (target.source === 'Push' && winner.target.source === 'Push' && winner.target.ref === target.ref);

/** Returns the applied request and push if they are superseded now. */
function displaced(judged: JudgedIntents): Echo {
  const { intents, policy, order, winner } = judged;
  const { lastRequest, lastPush } = judged.gatewaySync.status;
  const { donePush } = intents;
  const requestHolds = intents.kept?.target.source === 'Request' && winner.target === intents.kept.target;
  const pushHolds = !donePush || !competes(donePush, policy) || order.at(-1) === intents.kept;
  const isDisplaced = lastRequest?.outcome === 'Applied' && !requestHolds;
  return withoutUndefined({
    lastRequest: isDisplaced ? { ...lastRequest, ...superseded(judged) } : undefined,
    lastPush: lastPush && !pushHolds ? { ...lastPush, ...superseded(judged) } : undefined,
  });
}

function superseded({ winner: { target }, intents }: JudgedIntents): Ending {
  const by = {
    Spec: `${intents.edit.field} was edited later`,
    Request: `a newer request names ${target.ref}`,
    Push: `a newer push to ${target.ref} is followed`,
  };
  return { outcome: 'Superseded', message: by[target.source] };
}

/** Returns the outcomes while nothing can be decided, because of a pause or a missing response. */
export function pendingEcho({ request, push }: Intents, message: string): Echo {
  const endingOf = ({ ignored }: Open<PushAnnotations>): Ending =>
    ignored ? { outcome: 'Ignored', message: ignored } : { outcome: 'Pending', message };
  return withoutUndefined({
    lastRequest: request && { ...requestFields(request), ...endingOf(request) },
    lastPush: push && { ...pushFields(push), ...endingOf(push) },
  });
}

/** The annotations of a request, and the time that counts if it isn't the stated one. */
export const requestFields = ({ ref, at, by, id, repo, madeAt }: Open<RequestAnnotations>) =>
  withoutUndefined({ ref, at, by, id, repo, seenAt: seenAtOf(at, madeAt) });

/** The same for a push. */
export const pushFields = ({ ref, at, repo, madeAt }: Open<PushAnnotations>) =>
  withoutUndefined({ ref, at, repo, seenAt: seenAtOf(at, madeAt) });

const seenAtOf = (at: string | undefined, madeAt: number): string | undefined =>
  readStatedTime(at ?? '') === madeAt ? undefined : new Date(madeAt).toISOString();
