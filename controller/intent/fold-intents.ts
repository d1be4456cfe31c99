import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Intents, Target, Wish } from './intents.ts';
import { type Judgement, judgePush, judgeRequest, type RefPolicy } from './judge-asked.ts';
import { type Outcomes, outcomesOf } from './outcomes.ts';
import { type AdvertisedRefs, resolveRef } from './resolve-ref.ts';

/** What is to be followed, after the host was asked, and what became of the request and the push. */
export type Fold = Outcomes & { winner: Wish };

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
  const request = intents.request && judgeRequest(intents.request, policy, refs);
  const push = intents.push && judgePush(intents.push, policy, refs);
  const wishes = [intents.edit, intents.kept, wishOf(push), wishOf(request)];
  const order = wishes.filter((wish) => wish !== undefined).sort(byTime);
  const winner = order.reduce((last, next) => follow(last, next, refs));
  return { winner, ...outcomesOf({ gatewaySync, intents, policy, request, push, order, winner, now }) };
}

/** Ties: a request wins over a push, and a push over an edit. */
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
