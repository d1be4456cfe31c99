import type { GatewaySyncStatus, RequestOutcome } from '../../shared/api/gateway-sync-status.ts';
import type { ObservedGatewaySync, PushAnnotations, RequestAnnotations } from '../watch/observed-gateway-sync.ts';

export type Target = NonNullable<GatewaySyncStatus['target']>;

/** What is known of a request or push before anything is resolved: to be tried, or settled already. */
type Verdict = { kind: 'try' } | { kind: 'settled'; outcome: RequestOutcome; message: string };

/** What the resource asks for, by its spec, its annotations and what was done so far. */
export interface Intent {
  /** Followed if the request or push is not, or cannot be. */
  fallback: Target;
  request?: RequestAnnotations & { verdict: Verdict };
  push?: PushAnnotations & { verdict: Verdict };
  /** The fallback is an edit of spec.git.ref that has not been followed yet. */
  edited: boolean;
}

const applied =
  'the annotation comes from a manifest: remove sync.io/requested-ref from it, and set spec.git.ref instead';
const stale = 'the request is older than this resource, which was restored or cloned with it';
const displaced = 'spec.git.ref was edited after this request was made';

/**
 * The newest intent wins: a request is followed until spec.git.ref is edited. What a request or push asked for is told
 * from its echo in status, so that nothing is done twice and nothing is forgotten, also not by a restart.
 */
export function chooseIntent(gatewaySync: ObservedGatewaySync): Intent {
  const { status, spec } = gatewaySync;
  const edited = status.observedRef !== undefined && status.observedRef !== spec.git.ref;
  const request = openRequest(gatewaySync, edited);
  const push = openPush(gatewaySync);
  const followed = status.target;
  const keep = followed && !edited && status.observedRef !== undefined;
  return {
    fallback: keep ? followed : { ref: spec.git.ref, source: 'Spec' },
    edited: !keep,
    ...(request ? { request } : {}),
    ...(push ? { push } : {}),
  };
}

function openRequest(gatewaySync: ObservedGatewaySync, edited: boolean): Intent['request'] {
  const { request, status } = gatewaySync;
  if (!request) return undefined;
  const { ref, at, by, id } = request;
  const echo = status.lastRequest;
  const same = echo && echo.ref === ref && echo.at === at && echo.by === by && echo.id === id;
  if (same && echo.outcome !== 'Pending') return undefined;
  const fields = { ref, ...(at ? { at } : {}), ...(by ? { by } : {}), ...(id ? { id } : {}) };
  return { ...fields, verdict: judge(gatewaySync, edited) };
}

function judge(gatewaySync: ObservedGatewaySync, edited: boolean): Verdict {
  const { request, status, createdAt, refWrittenAt } = gatewaySync;
  if (request?.applied) return { kind: 'settled', outcome: 'Ignored', message: applied };
  const requestedAt = timeOf(request);
  const unknown = status.observedRef === undefined;
  if (unknown && requestedAt !== undefined && requestedAt < createdAt) {
    return { kind: 'settled', outcome: 'Ignored', message: stale };
  }
  if (requestedAt !== undefined && refWrittenAt !== undefined) {
    // Without a status (it was wiped, say) nothing tells whether the ref was edited, only when it was written. A new
    // resource may be asked in its first second.
    const isOlder = edited ? requestedAt <= refWrittenAt : unknown && requestedAt < refWrittenAt;
    if (isOlder) return { kind: 'settled', outcome: 'Superseded', message: displaced };
  }
  return { kind: 'try' };
}

/** When a request was made: as it says itself, else when the API server stored it. */
function timeOf(request: ObservedGatewaySync['request']): number | undefined {
  const stated = Date.parse(request?.at ?? '');
  return Number.isNaN(stated) ? request?.writtenAt : stated;
}

function openPush({ push, status }: ObservedGatewaySync): Intent['push'] {
  if (!push) return undefined;
  const echo = status.lastPush;
  const same = echo && echo.ref === push.ref && echo.at === push.at;
  if (same && echo.outcome !== 'Pending') return undefined;
  return { ...push, verdict: { kind: 'try' } };
}

/** Whether the status already says what came of this spec, request and push: nobody waits for it. */
export function isSettled({ generation, status }: ObservedGatewaySync, { request, push }: Intent): boolean {
  return status.observedGeneration === generation && request === undefined && push === undefined;
}

/** Whether the status says at least that this spec, request and push wait for the host: a retry is no news. */
export function isMentioned({ generation, status }: ObservedGatewaySync, { request, push }: Intent): boolean {
  const { observedGeneration, lastRequest, lastPush } = status;
  const requestWaits = request === undefined || lastRequest?.outcome === 'Pending';
  const pushWaits = push === undefined || lastPush?.outcome === 'Pending';
  return observedGeneration === generation && requestWaits && pushWaits;
}

/**
 * Identifies what must not be answered from memory: a request, a push, and, where no poll keeps the memory fresh, a
 * change of the spec. Undefined where there is nothing of the kind.
 */
export function eventOf(gatewaySync: ObservedGatewaySync, intent: Intent): string | undefined {
  const { generation, spec, status } = gatewaySync;
  const { request, push } = intent;
  const change = spec.polling.enabled || status.observedGeneration === generation ? undefined : generation;
  if (request === undefined && push === undefined && change === undefined) return undefined;
  return JSON.stringify([request ?? null, push ?? null, change ?? null]);
}
