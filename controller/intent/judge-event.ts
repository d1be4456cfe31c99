import { hashAdvice, isCommitHash, isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { AdvertisedRefs } from '../polling/query-result.ts';
import { TAGS } from '../polling/version-tags.ts';
import type { PushAnnotations, RequestAnnotations } from '../watch/observed-gateway-sync.ts';
import { isFollowable, matchAllowedRefs } from './allowed-refs.ts';
import type { Open, Wish } from './intents.ts';
import { noDefaultBranch, resolveRef } from './resolve-ref.ts';

/** Judgement of one request or push, without comparing it with others. */
export type Judgement =
  | { kind: 'accepted'; wish: Wish }
  /** A push to the ref in spec.git.ref: it is queried again, and nothing else changes. */
  | { kind: 'sync' }
  | { kind: 'refused'; outcome: 'Ignored' | 'Failed'; message: string }
  /** It seems to be allowed, but the repository doesn't show it. */
  | { kind: 'missing'; message: string; advice?: string | undefined };

/** Facts that decide which refs a webhook can request. */
export interface RefPolicy {
  /** `spec.webhook.allowedRefs`. */
  allowedRefs: readonly string[];
  /** Full name of the ref in spec.git.ref. */
  specRef: string | undefined;
  /** When it was edited (ms since the epoch). */
  editedAt: number;
  /** Full name of the ref that an earlier request or push selected. */
  keptRef: string | undefined;
}

/** Judges a request. Without `allowedRefs`, it can name any tag, and the refs that are followed anyway. */
export function judgeRequest(request: Open<RequestAnnotations>, policy: RefPolicy, refs: AdvertisedRefs): Judgement {
  const { ref, id, madeAt } = request;
  if (request.ignored) return ignored(request.ignored);
  if (!isValidRefName(ref)) return { kind: 'refused', outcome: 'Failed', message: 'not a valid git ref' };
  const names = namesOf(ref, refs);
  const [first] = names;
  if (first === undefined)
    return {
      kind: 'missing',
      message: ref === 'HEAD' ? noDefaultBranch : `the repository has no ref ${ref}`,
      advice: hashAdvice(ref),
    };
  const isAllowed = mayFollow(ref, names, policy);
  if (isAllowed === 'undecided') return ignored(tooManyRefs);
  if (isAllowed === 'no') return ignored(notAllowed(first));
  const target = withoutUndefined({ ref, source: 'Request' as const, requestId: id });
  return { kind: 'accepted', wish: { target, at: madeAt } };
}

/** Judges a push: it triggers a sync, and its branch is followed only if `allowedRefs` matches. */
export function judgePush(push: Open<PushAnnotations>, policy: RefPolicy, refs: AdvertisedRefs): Judgement {
  const { ref, madeAt } = push;
  if (push.ignored) return ignored(push.ignored);
  if (!competes(push, policy)) {
    if (ref === policy.specRef || ref === policy.keptRef) return { kind: 'sync' };
    return ignored("this branch isn't followed: it is neither spec.git.ref nor in spec.webhook.allowedRefs");
  }
  if (!isValidRefName(ref)) return { kind: 'refused', outcome: 'Failed', message: 'not a valid git ref' };
  if (!resolveRef(ref, refs)) return { kind: 'missing', message: 'the repository has no such branch' };
  return { kind: 'accepted', wish: { target: { ref, source: 'Push' }, at: madeAt } };
}

type Pushed = Pick<Open<PushAnnotations>, 'ref' | 'madeAt'>;

/** Whether a push requests that its branch is followed. */
export function competes(push: Pushed, policy: RefPolicy): boolean {
  return !isTracked(push, policy) && matchAllowedRefs(policy.allowedRefs, [push.ref]) === 'yes';
}

/** Whether spec.git.ref named the branch when it was pushed. */
function isTracked({ ref, madeAt }: Pushed, { specRef, editedAt }: RefPolicy): boolean {
  return ref === specRef && madeAt >= editedAt;
}

function ignored(message: string): Judgement {
  return { kind: 'refused', outcome: 'Ignored', message };
}

/** A glob of question marks matches commits, and no name of another length. */
const notAllowed = (name: string): string =>
  isCommitHash(name)
    ? `commit ${name} isn't the tip of an allowed branch or tag; to allow all commits, add the glob ${'?'.repeat(name.length)} to spec.webhook.allowedRefs`
    : `${name} isn't allowed; to allow it, add it to spec.webhook.allowedRefs`;

const tooManyRefs =
  'too many refs point at this commit to check them all against spec.webhook.allowedRefs; request one of them by name';

/**
 * Returns the full names for a requested ref. A bare commit stands for each ref with this tip, so that no commit of a
 * fork is accepted by its hash.
 */
function namesOf(ref: string, refs: AdvertisedRefs): string[] {
  const isTip = ([name, commit]: [string, string]) => commit === ref && name !== ref && isFollowable(name);
  const tips = isCommitHash(ref) ? [...refs].filter(isTip) : [];
  if (tips.length > 0) return tips.map(([name]) => name);
  const resolved = resolveRef(ref, refs);
  return resolved ? [resolved.qualifiedRef] : [];
}

/**
 * Whether a request can move the gateways to one of the names. Names such as `refs/pull/1/head`, and bare commits,
 * always require a match, because servers offer commits of forks under them.
 */
function mayFollow(asked: string, names: string[], { allowedRefs, specRef, keptRef }: RefPolicy) {
  if (names.some((name) => name === specRef || name === keptRef)) return 'yes';
  if (allowedRefs.length > 0) return matchAllowedRefs(allowedRefs, [asked, ...names]);
  return names.some((name) => name.startsWith(TAGS)) ? 'yes' : 'no';
}
