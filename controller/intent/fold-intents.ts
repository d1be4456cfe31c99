import type { Problem } from '../../shared/api/reasons.ts';
import { hashAdvice } from '../../shared/domain/git/check-ref-name.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { AdvertisedRefs } from '../polling/query-result.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { FollowedRef, Intent, Intents, OpenIntent } from './intents.ts';
import { competes, type Judgement, judgePush, judgeRequest, type RefPolicy } from './judge-event.ts';
import {
  nextQueryInMs,
  type Outcome,
  type Outcomes,
  outcomesOf,
  type Resolved,
  type Unresolved,
  unresolved,
} from './resolution.ts';
import { noDefaultBranch, resolveRef } from './resolve-ref.ts';

/** The judged intents of a resource. */
interface Fold {
  gatewaySync: ObservedGatewaySync;
  intents: Intents;
  policy: RefPolicy;
  /** Allowed intents, the newest last. */
  order: Intent[];
  /** The one to follow. */
  winner: Intent;
  now: number;
}

/**
 * Follows the newest of at most four intents: the edit of spec.git, the ref followed so far, a request, and a push.
 * Those that are allowed and exist are sorted by time, and each replaces the previous one. Earlier results are in the
 * status with their times, so it makes no difference which intents arrive together.
 */
export function foldIntents(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  refs: AdvertisedRefs,
  now: number,
): Resolved | Unresolved {
  const policy = policyOf(gatewaySync, intents, refs);
  const judgements = {
    request: intents.request && judgeRequest(intents.request, policy, refs),
    push: intents.push && judgePush(intents.push, policy, refs),
  };
  const allowed = [intents.edit, intents.kept, acceptedBy(judgements.push), acceptedBy(judgements.request)];
  const order = allowed.filter((intent) => intent !== undefined).sort(byTime);
  const winner = order.reduce((last, next) => followNext(last, next, refs));
  const fold = { gatewaySync, intents, policy, order, winner, now };
  const { echo, requeryInMs } = outcomesOf(intents, now, (asked, kind) =>
    outcomeOf(asked, judgements[kind] as Judgement, fold),
  );
  const outcomes = { echo: { ...displacedBy(fold), ...echo }, requeryInMs };
  const resolved = resolveRef(winner.target.ref, refs);
  if (!resolved) return unresolved(noSuchRef(winner.target, gatewaySync.spec.git.repo), outcomes);
  return { kind: 'resolved', followed: { winner, resolved }, ...outcomes };
}

/** Ties: an edit that was delivered together with a request or a push wins, and a request wins over a push. */
const ranks: FollowedRef['source'][] = ['Push', 'Request', 'Spec'];

function byTime(one: Intent, other: Intent): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1;
  return ranks.indexOf(one.target.source) - ranks.indexOf(other.target.source);
}

/** Replaces the last intent with the next one. A push to the branch that is already followed only confirms it. */
function followNext(last: Intent, next: Intent, refs: AdvertisedRefs): Intent {
  const confirms = next.target.source === 'Push' && qualify(last, refs) === next.target.ref;
  return confirms ? { ...last, at: next.at } : next;
}

function qualify(intent: Intent | undefined, refs: AdvertisedRefs): string | undefined {
  return intent && resolveRef(intent.target.ref, refs)?.qualifiedRef;
}

function policyOf({ spec }: ObservedGatewaySync, { edit, kept }: Intents, refs: AdvertisedRefs): RefPolicy {
  return {
    allowedRefs: spec.webhook.allowedRefs,
    specRef: qualify(edit, refs),
    keptRef: qualify(kept, refs),
    requested: kept?.target.source === 'Request' ? kept.target : undefined,
    editedAt: edit.at,
  };
}

function acceptedBy(judgement: Judgement | undefined): Intent | undefined {
  return judgement?.kind === 'accepted' ? judgement.intent : undefined;
}

/** Returns the outcome of a new request or push. */
function outcomeOf({ madeAt }: OpenIntent, judgement: Judgement, fold: Fold): Outcome {
  const { order, winner, now } = fold;
  if (judgement.kind === 'final') return judgement.outcome;
  if (judgement.kind === 'accepted') {
    const holds = order.at(-1) === judgement.intent || isFollowed(judgement.intent, winner);
    return holds ? { outcome: 'Applied' } : superseded(fold);
  }
  const advice = judgement.advice ? `; ${judgement.advice}` : '';
  if (nextQueryInMs(madeAt, now) === undefined)
    return { outcome: 'Failed', message: `${judgement.message}${advice}; the last good commit is kept` };
  if (madeAt < (order.at(-1) as Intent).at) return superseded(fold);
  const message = `${judgement.message} yet; retrying for up to a minute, because some git servers send webhooks before they show a ref${advice}`;
  return { outcome: 'Pending', message };
}

/** Whether an intent is followed. A late push to a branch that is followed because of a newer push only confirms it. */
const isFollowed = ({ target }: Intent, winner: Intent): boolean =>
  winner.target === target ||
  (target.source === 'Push' && winner.target.source === 'Push' && winner.target.ref === target.ref);

/** Returns the applied request and push if they are superseded now. */
function displacedBy(fold: Fold): Outcomes['echo'] {
  const { intents, policy, order, winner } = fold;
  const { lastRequest, lastPush } = fold.gatewaySync.status;
  const { donePush } = intents;
  const requestHolds = intents.kept?.target.source === 'Request' && winner.target === intents.kept.target;
  const pushHolds = !donePush || !competes(donePush, policy) || order.at(-1) === intents.kept;
  const isDisplaced = lastRequest?.outcome === 'Applied' && !requestHolds;
  return withoutUndefined({
    lastRequest: isDisplaced ? { ...lastRequest, ...superseded(fold) } : undefined,
    lastPush: lastPush && !pushHolds ? { ...lastPush, ...superseded(fold) } : undefined,
  });
}

function superseded({ winner: { target }, intents }: Fold): Outcome {
  const by = {
    Spec: `${intents.edit.field} was edited later`,
    Request: `a newer request names ${target.ref}`,
    Push: `a newer push to ${target.ref} is followed`,
  };
  return { outcome: 'Superseded', message: by[target.source] };
}

function noSuchRef({ ref, source }: FollowedRef, repo: string): Problem {
  const advice = source === 'Spec' ? 'or change spec.git.ref' : 'change spec.git.ref, or send another request';
  const origin = source === 'Spec' ? '' : ', which a webhook requested, was';
  if (ref === 'HEAD') return { reason: 'RefNotFound', message: `${noDefaultBranch}; push that branch, ${advice}` };
  const hash = hashAdvice(ref);
  const message = `ref "${ref}"${origin} not found in ${repo}; push it, ${advice}${hash ? `; ${hash}` : ''}`;
  return { reason: 'RefNotFound', message };
}
