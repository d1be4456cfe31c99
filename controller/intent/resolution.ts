import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import type { Problem } from '../../shared/api/reasons.ts';
import { earliest } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { PendingQuery } from '../polling/query-result.ts';
import { type Intent, type Intents, type OpenIntent, readStatedTime } from './intents.ts';
import type { ResolvedRef } from './resolve-ref.ts';

/** Result of resolving which commit to follow. */
export type Resolution =
  | { kind: 'paused'; echo: Echo }
  /** No response yet; `isMentioned` if the status shows that it is awaited. */
  | (PendingQuery & { echo: Echo; isMentioned: boolean })
  | Resolved
  | Unresolved;

export interface Resolved extends Outcomes {
  kind: 'resolved';
  followed: Followed;
}

/** No new commit is known. */
export interface Unresolved extends Problem, Outcomes {
  kind: 'failed';
  /** It resolves itself. */
  transient: boolean;
  /** Time until the git server is queried again (ms); undefined if that wouldn't help. */
  retryAfterMs: number | undefined;
  /** Whether the git server has responded, so that this spec has been seen. */
  isJudged: boolean;
  /** The followed ref, if the git server returned it before it became unavailable. */
  known: Followed | undefined;
}

/** The followed ref and its commit. */
export interface Followed {
  winner: Intent;
  resolved: ResolvedRef;
  /** About the tag that was chosen for a range. */
  chosen?: Problem;
}

export interface Outcomes {
  echo: Echo;
  /** Time until the git server is queried again for a ref that it doesn't show yet (ms). */
  requeryInMs: number | undefined;
}

/** Outcomes of the last request and the last push; absent fields stay unchanged. */
type Echo = Pick<GatewaySyncStatus, 'lastRequest' | 'lastPush'>;

/** The outcome of a request or a push. */
export type Outcome = Pick<NonNullable<GatewaySyncStatus['lastRequest']>, 'outcome' | 'reason' | 'message'>;

/** Makes the resolution of intents that name no ref of the repository. */
export const unresolved = (problem: Problem, outcomes: Outcomes): Unresolved => ({
  kind: 'failed',
  ...problem,
  ...outcomes,
  transient: false,
  retryAfterMs: undefined,
  isJudged: true,
  known: undefined,
});

/**
 * Delays after a webhook at which a ref that the git server doesn't show is queried again (ms). Servers with replicas
 * send webhooks before each replica shows the ref. After the last query, the ref is absent.
 */
const QUERIES_MS = [2_000, 4_000, 7_000, 11_000, 17_000, 25_000, 38_000, 55_000];

/** Time until the next query (ms); undefined if the last one is already due. */
export function nextQueryInMs(madeAt: number, now: number): number | undefined {
  const sinceMs = Math.max(0, now - madeAt);
  const next = QUERIES_MS.find((query) => query > sinceMs);
  return next === undefined ? undefined : next - sinceMs;
}

/** Records the outcomes of the open request and the open push. One that is pending waits for the next query. */
export function outcomesOf(
  { request, push }: Intents,
  now: number,
  outcomeOf: (asked: OpenIntent, kind: 'request' | 'push') => Outcome,
): Outcomes {
  const requested = request && outcomeOf(request, 'request');
  const pushed = push && outcomeOf(push, 'push');
  const waitOf = (asked: OpenIntent | undefined, outcome: Outcome | undefined) =>
    asked && outcome?.outcome === 'Pending' ? nextQueryInMs(asked.madeAt, now) : undefined;
  return {
    echo: withoutUndefined({
      lastRequest: request && requested && { ...echoOf(request), ...requested },
      lastPush: push && pushed && { ...echoOf(push), ...pushed },
    }),
    requeryInMs: earliest(waitOf(request, requested), waitOf(push, pushed)),
  };
}

/** Returns the outcomes while nothing can be decided, because of a pause or a missing response. */
export const pendingEcho = (intents: Intents, message: string): Echo =>
  outcomesOf(intents, 0, ({ ignored }) =>
    ignored ? { outcome: 'Ignored', message: ignored } : { outcome: 'Pending', message },
  ).echo;

/** The annotations of a request or a push, and the time that counts if it isn't the stated one. */
function echoOf({ ref, at, by, id, repo, madeAt }: OpenIntent) {
  const seenAt = readStatedTime(at ?? '') === madeAt ? undefined : new Date(madeAt).toISOString();
  return withoutUndefined({ ref, at, by, id, repo, seenAt });
}
