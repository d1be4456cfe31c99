import type { AdvertisedRefs } from '../polling/query-result.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Intents, Target, Wish } from './intents.ts';
import { type Judgement, judgePush, judgeRequest, type RefPolicy } from './judge-event.ts';
import { type Outcomes, outcomesOf } from './outcomes.ts';
import { resolveRef } from './resolve-ref.ts';

/** The ref to follow after a query, and the outcomes of the request and the push. */
export type Fold = Outcomes & { winner: Wish };

/**
 * Selects the newest of at most four wishes: the edit of spec.git, the ref followed so far, a request, and a push.
 * Those that are allowed and exist are sorted by time, and each replaces the previous one. Earlier results are in the
 * status with their times, so it makes no difference which wishes arrive together.
 */
export function foldIntents(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  refs: AdvertisedRefs,
  now: number,
): Fold {
  const policy = policyOf(gatewaySync, intents, refs);
  const request = intents.request && judgeRequest(intents.request, policy, refs);
  const push = intents.push && judgePush(intents.push, policy, refs);
  const wishes = [intents.edit, intents.kept, wishOf(push), wishOf(request)];
  const order = wishes.filter((wish) => wish !== undefined).sort(byTime);
  const winner = order.reduce((last, next) => follow(last, next, refs));
  return { winner, ...outcomesOf({ gatewaySync, intents, policy, request, push, order, winner, now }) };
}

/** Ties: an edit that was delivered together with a request or a push wins, and a request wins over a push. */
const ranks: Target['source'][] = ['Push', 'Request', 'Spec'];

function byTime(one: Wish, other: Wish): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1;
  return ranks.indexOf(one.target.source) - ranks.indexOf(other.target.source);
}

/** Replaces the last wish with the next one. A push to the branch that is already followed only confirms it. */
function follow(last: Wish, next: Wish, refs: AdvertisedRefs): Wish {
  const confirms = next.target.source === 'Push' && qualify(last, refs) === next.target.ref;
  return confirms ? { ...last, at: next.at } : next;
}

function qualify(wish: Wish | undefined, refs: AdvertisedRefs): string | undefined {
  return wish && resolveRef(wish.target.ref, refs)?.qualifiedRef;
}

function policyOf({ spec }: ObservedGatewaySync, { edit, kept }: Intents, refs: AdvertisedRefs): RefPolicy {
  return {
    allowedRefs: spec.webhook.allowedRefs,
    specRef: qualify(edit, refs),
    keptRef: qualify(kept, refs),
    editedAt: edit.at,
  };
}

function wishOf(verdict: Judgement | undefined): Wish | undefined {
  return verdict?.kind === 'accepted' ? verdict.wish : undefined;
}
