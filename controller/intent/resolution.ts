import type { Reason } from '../../shared/api/reasons.ts';
import { hashAdvice } from '../../shared/domain/git/check-ref-name.ts';
import { TransientError } from '../../shared/errors.ts';
import type { FoundRefs, PendingQuery, QueryResult } from '../polling/query-result.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { foldIntents } from './fold-intents.ts';
import { followRange } from './follow-range.ts';
import type { Followed, Settled } from './followed.ts';
import { type Intents, isMentioned, pinnedHashes, type Target } from './intents.ts';
import { type Echo, pendingEcho } from './outcomes.ts';
import { noDefaultBranch, resolveRef } from './resolve-ref.ts';

/** Result of resolving which commit to follow. */
export type Resolution =
  | { kind: 'paused'; echo: Echo }
  /** No response yet; `isNews` if the status doesn't show yet that it is awaited. */
  | (PendingQuery & { echo: Echo; isNews: boolean })
  | {
      kind: 'resolved';
      followed: Followed;
      echo: Echo;
      /** Delay before the git server is queried again for a ref that it doesn't show yet (ms), if any. */
      requeryInMs: number | undefined;
    }
  | Failure;

/** No new commit is known. */
interface Failure {
  kind: 'failed';
  reason: Reason;
  message: string;
  /** It resolves itself. */
  transient: boolean;
  /** Time until the git server is queried again (ms); undefined if that wouldn't help. */
  retryAfterMs: number | undefined;
  requeryInMs: number | undefined;
  echo: Echo;
  /** Whether the git server has responded, so that this spec has been seen. */
  isJudged: boolean;
  /** The followed ref, if the git server returned it before it became unavailable. */
  known: Followed | undefined;
}

const querying = 'the repository is being queried';

/** Resolves the intents with a response of the repository; undefined for a paused resource. */
export function resolve(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  { query, now }: { query: QueryResult | PendingQuery | undefined; now: number },
): Resolution {
  if (!query) return { kind: 'paused', echo: pendingEcho(intents, 'the resource is paused') };
  if (query.kind === 'querying') {
    const isNews = !isMentioned(gatewaySync, intents);
    return { ...query, isNews, echo: isNews ? pendingEcho(intents, querying) : {} };
  }
  if (query.kind === 'error') return failureOf(gatewaySync, intents, { query, now });
  const { followed, problem, echo, requeryInMs } = settle(gatewaySync, intents, query, now);
  if (followed) return { kind: 'resolved', followed, echo, requeryInMs };
  const failure = { transient: false, retryAfterMs: undefined, isJudged: true, known: undefined };
  return { kind: 'failed', ...problem, ...failure, echo, requeryInMs };
}

function settle(gatewaySync: ObservedGatewaySync, intents: Intents, found: FoundRefs, now: number): Settled {
  if (intents.range) return followRange({ gatewaySync, intents, ...intents.range, found, now });
  const refs = new Map([...found.refs, ...pinnedHashes(intents)]);
  const { winner, echo, requeryInMs } = foldIntents(gatewaySync, intents, refs, now);
  const resolved = resolveRef(winner.target.ref, refs);
  return {
    followed: resolved && { winner, resolved },
    problem: noSuchRef(winner.target, gatewaySync.spec.git.repo),
    echo,
    requeryInMs,
  };
}

/** While the git server is unavailable, its last response serves for refs that need no new one. A full hash needs none. */
function failureOf(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  { query, now }: { query: QueryResult & { kind: 'error' }; now: number },
): Failure {
  const { error, lastGood, retryAfterMs } = query;
  const { reason, message } = error;
  const transient = error instanceof TransientError;
  const before = { ...intents, request: undefined, push: undefined };
  const found = transient && lastGood ? lastGood : { refs: new Map() };
  const hasAnswered = intents.range === undefined || (transient && lastGood !== undefined);
  const settled = hasAnswered ? settle(gatewaySync, before, found, now) : undefined;
  const known = settled?.followed;
  const failure = { transient, retryAfterMs, requeryInMs: undefined, isJudged: known !== undefined, known };
  return {
    kind: 'failed',
    reason,
    message,
    ...failure,
    echo: { ...(known && settled?.echo), ...pendingEcho(intents, message) },
  };
}

function noSuchRef({ ref, source }: Target, repo: string): Settled['problem'] {
  const advice = source === 'Spec' ? 'or change spec.git.ref' : 'change spec.git.ref, or send another request';
  const origin = source === 'Spec' ? '' : ', which a webhook requested, was';
  if (ref === 'HEAD') return { reason: 'RefNotFound', message: `${noDefaultBranch}; push that branch, ${advice}` };
  const hash = hashAdvice(ref);
  const message = `ref "${ref}"${origin} not found in ${repo}; push it, ${advice}${hash ? `; ${hash}` : ''}`;
  return { reason: 'RefNotFound', message };
}
