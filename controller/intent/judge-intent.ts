import type { GatewaySyncStatus } from '../../shared/api/gateway-sync-status.ts';
import { isCommitHash, isValidRefName } from '../../shared/domain/check-ref-name.ts';
import { compileGlob } from '../../shared/domain/glob.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { Intent, Target } from './choose-intent.ts';
import { type AdvertisedRefs, type ResolvedRef, refPrefixes, resolveRef } from './resolve-ref.ts';

type Echo = Pick<GatewaySyncStatus, 'lastRequest' | 'lastPush'>;

/** What is to be followed, after the host was asked, and what became of the request and the push. */
export interface Judgement extends Echo {
  target: Target;
  /** Undefined where the host has no such ref. */
  resolved: ResolvedRef | undefined;
}

/** Decides between the request, the push and what is followed already, by the refs that the host advertised. */
export function judgeIntent(gatewaySync: ObservedGatewaySync, intent: Intent, refs: AdvertisedRefs): Judgement {
  const request = judgeRequest(gatewaySync, intent, refs);
  const push = judgePush(gatewaySync, intent, refs);
  const { target, resolved } = request.follow ??
    push.follow ?? {
      target: intent.fallback,
      resolved: resolveRef(intent.fallback.ref, refs),
    };
  return { target, resolved, ...request.echo, ...push.echo };
}

/** Echoes for a time in which nothing can be decided: paused, or the host is away. */
export function pendingEcho({ request, push }: Intent, message: string): Echo {
  return {
    ...(request
      ? {
          lastRequest: requestEcho(
            request,
            request.verdict.kind === 'settled' ? request.verdict : { outcome: 'Pending', message },
          ),
        }
      : {}),
    ...(push ? { lastPush: { ...pushFields(push), outcome: 'Pending', message } } : {}),
  };
}

interface Verdict<TEcho> {
  echo: TEcho;
  follow?: { target: Target; resolved: ResolvedRef };
}

type Ending = Pick<NonNullable<GatewaySyncStatus['lastRequest']>, 'outcome' | 'message'>;

function judgeRequest(
  gatewaySync: ObservedGatewaySync,
  intent: Intent,
  refs: AdvertisedRefs,
): Verdict<Pick<Echo, 'lastRequest'>> {
  const { request } = intent;
  if (!request) return { echo: {} };
  const end = (ending: Ending) => ({ echo: { lastRequest: requestEcho(request, ending) } });
  if (request.verdict.kind === 'settled') return end(request.verdict);
  if (!isValidRefName(request.ref)) return end({ outcome: 'Failed', message: 'this is no valid git ref' });
  const resolved = resolveRequested(request.ref, refs);
  if (!resolved)
    return end({ outcome: 'Failed', message: `the repository has no ref ${request.ref}; the last good commit stays` });
  if (!mayFollow(request.ref, resolved, policyOf(gatewaySync, intent, refs))) {
    return end({
      outcome: 'Ignored',
      message: `${resolved.qualifiedRef} is not allowed: see spec.webhook.allowedRefs`,
    });
  }
  const target: Target = { ref: request.ref, source: 'Request', ...(request.id ? { requestId: request.id } : {}) };
  return { ...end({ outcome: 'Applied' }), follow: { target, resolved } };
}

/** A bare commit counts as the ref that has it as its tip, so that no commit of a fork gets in by its hash. */
function resolveRequested(ref: string, refs: AdvertisedRefs): ResolvedRef | undefined {
  if (!isCommitHash(ref)) return resolveRef(ref, refs);
  const tips = [...refs].filter(([name, commit]) => commit === ref && name !== ref).map(([name]) => name);
  const tip = tips.find((name) => name.startsWith('refs/tags/')) ?? tips[0];
  return tip ? { commit: ref, qualifiedRef: tip, ambiguous: false } : resolveRef(ref, refs);
}

function judgePush(
  gatewaySync: ObservedGatewaySync,
  intent: Intent,
  refs: AdvertisedRefs,
): Verdict<Pick<Echo, 'lastPush'>> {
  const { push } = intent;
  if (!push) return { echo: {} };
  const end = (ending: Ending) => ({ echo: { lastPush: { ...pushFields(push), ...ending } } });
  const { allowedRefs, trackedRefs } = policyOf(gatewaySync, intent, refs);
  if (trackedRefs.includes(push.ref)) return end({ outcome: 'Applied' });
  if (!matchesAllowedRefs(allowedRefs, push.ref)) {
    return end({
      outcome: 'Ignored',
      message: 'this branch is not followed: it is neither spec.git.ref nor in spec.webhook.allowedRefs',
    });
  }
  const resolved = isValidRefName(push.ref) ? resolveRef(push.ref, refs) : undefined;
  if (!resolved) return end({ outcome: 'Failed', message: 'the repository has no such branch' });
  return { ...end({ outcome: 'Applied' }), follow: { target: { ref: push.ref, source: 'Push' }, resolved } };
}

function policyOf({ spec }: ObservedGatewaySync, { fallback }: Intent, refs: AdvertisedRefs) {
  const trackedRefs = [spec.git.ref, fallback.ref].flatMap((ref) => resolveRef(ref, refs)?.qualifiedRef ?? []);
  return { allowedRefs: spec.webhook.allowedRefs, trackedRefs };
}

function requestEcho(request: NonNullable<Intent['request']>, { outcome, message }: Ending) {
  const { verdict: _, ...fields } = request;
  return { ...fields, outcome, ...(message ? { message } : {}) };
}

function pushFields({ verdict: _, ...fields }: NonNullable<Intent['push']>) {
  return fields;
}

/** Prefixes that the host must be asked for to judge the intent, and hashes whose commits must be known to exist. */
export function neededRefs({ spec }: ObservedGatewaySync, { fallback, request, push }: Intent) {
  const names = [spec.git.ref, fallback.ref, ...(request ? [request.ref] : []), ...(push ? [push.ref] : [])].filter(
    isValidRefName,
  );
  const prefixes = new Set(names.flatMap(refPrefixes));
  if (request && isCommitHash(request.ref)) for (const prefix of ['refs/heads/', 'refs/tags/']) prefixes.add(prefix);
  return { prefixes: [...prefixes], commits: [...new Set(names.filter(isCommitHash))] };
}

/** What decides whether a webhook may ask for a ref. */
interface RefPolicy {
  /** `spec.webhook.allowedRefs`. */
  allowedRefs: readonly string[];
  /** Full names of the refs that are followed without a request: that of spec.git.ref, and of the target. */
  trackedRefs: readonly string[];
}

/** Whether a ref, by its full or short name or as it was asked for, matches one of the globs. */
function matchesAllowedRefs(allowedRefs: readonly string[], ...names: string[]): boolean {
  const all = new Set(names.flatMap((name) => [name, name.replace(/^refs\/(?:heads|tags)\//, '')]));
  return allowedRefs.some((glob) => [...all].some(compileGlob(glob)));
}

/**
 * Whether a request may move the gateways to what it resolved to. Without `allowedRefs` that is any tag, and what is
 * followed anyway; with them, what matches. Names such as `refs/pull/1/head` and bare commits always need a match:
 * hosts serve commits of forks under them.
 */
function mayFollow(asked: string, { qualifiedRef }: ResolvedRef, policy: RefPolicy): boolean {
  if (policy.trackedRefs.includes(qualifiedRef)) return true;
  if (policy.allowedRefs.length > 0) return matchesAllowedRefs(policy.allowedRefs, qualifiedRef, asked);
  return qualifiedRef.startsWith('refs/tags/');
}
