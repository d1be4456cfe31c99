import { TransientError } from '../../shared/errors.ts';
import type { FoundRefs, PendingQuery, QueryResult } from '../polling/query-result.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { foldIntents } from './fold-intents.ts';
import { followRange } from './follow-range.ts';
import { type Intents, isMentioned } from './intents.ts';
import { pendingEcho, type Resolution, type Resolved, type Unresolved, unresolved } from './resolution.ts';
import { pinnedHashes } from './resolve-ref.ts';

/** Resolves the intents with a response of the repository; undefined for a paused resource. */
export function resolve(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  { query, now }: { query: QueryResult | PendingQuery | undefined; now: number },
): Resolution {
  if (!query) return { kind: 'paused', echo: pendingEcho(intents, 'the resource is paused') };
  if (query.kind === 'querying') {
    const isShown = isMentioned(gatewaySync, intents);
    const echo = isShown ? {} : pendingEcho(intents, 'the repository is being queried');
    return { ...query, isMentioned: isShown, echo };
  }
  if (query.kind === 'refs') return follow(gatewaySync, intents, query, now);
  return unavailable(gatewaySync, intents, query, now);
}

function follow(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  found: FoundRefs,
  now: number,
): Resolved | Unresolved {
  if (intents.range) return followRange({ ...intents.range, gatewaySync, intents, found, now });
  return foldIntents(gatewaySync, intents, new Map([...found.refs, ...pinnedHashes(intents)]), now);
}

/** While the git server is unavailable, its last response serves for refs that need no new one. A full hash needs none. */
function unavailable(
  gatewaySync: ObservedGatewaySync,
  intents: Intents,
  { error, lastGood, retryAfterMs }: QueryResult & { kind: 'error' },
  now: number,
): Unresolved {
  const { reason, message } = error;
  const transient = error instanceof TransientError;
  const found = transient ? lastGood : undefined;
  const before = { ...intents, request: undefined, push: undefined };
  const hasResponse = found !== undefined || !intents.range;
  const earlier = hasResponse ? follow(gatewaySync, before, found ?? { refs: new Map() }, now) : undefined;
  const known = earlier?.kind === 'resolved' ? earlier.followed : undefined;
  const echo = { ...(known && earlier?.echo), ...pendingEcho(intents, message) };
  const failure = unresolved({ reason, message }, { echo, requeryInMs: undefined });
  return { ...failure, transient, retryAfterMs, isJudged: known !== undefined, known };
}
