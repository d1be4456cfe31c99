import { BOUNDS } from '../../shared/api/bounds.ts';
import { REFRESHED_BY } from '../../shared/api/names.ts';
import { compileGlob } from '../../shared/domain/files/glob.ts';
import { hashAdvice, isCommitHash, isValidRefName } from '../../shared/domain/git/check-ref-name.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { AdvertisedRefs } from '../polling/query-result.ts';
import { TAGS } from '../polling/version-tags.ts';
import type { FollowedRef, Intent, OpenIntent } from './intents.ts';
import type { Outcome } from './resolution.ts';
import { noDefaultBranch, resolveRef } from './resolve-ref.ts';

/** Judgement of one request or push, without comparing it with others. */
export type Judgement =
  | { kind: 'accepted'; intent: Intent }
  /** It is refused, or it names the ref that is followed anyway, which is only queried again. */
  | { kind: 'final'; outcome: Outcome }
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
  /** The followed ref, if a request selected it. */
  requested: FollowedRef | undefined;
}

/** Judges a request. Without `allowedRefs`, it can name any tag, and the refs that are followed anyway. */
export function judgeRequest(request: OpenIntent, policy: RefPolicy, refs: AdvertisedRefs): Judgement {
  const { ref, id, madeAt } = request;
  if (request.ignored) return ignored(request.ignored);
  if (!isValidRefName(ref)) return invalidRef;
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
  // A refresh isn't a request to followers, which may follow another ref.
  const isRefresh = request.by === REFRESHED_BY;
  const requestedAt = isRefresh ? undefined : new Date(madeAt).toISOString();
  const asked = withoutUndefined({ ref, source: 'Request' as const, requestId: id, requestedAt });
  const target = isRefresh && ref === policy.requested?.ref ? policy.requested : asked;
  return { kind: 'accepted', intent: { target, at: madeAt } };
}

/** Judges a push: it triggers a sync, and its branch is followed only if `allowedRefs` matches. */
export function judgePush(push: OpenIntent, policy: RefPolicy, refs: AdvertisedRefs): Judgement {
  const { ref, madeAt } = push;
  if (push.ignored) return ignored(push.ignored);
  if (!competes(push, policy)) {
    if (ref === policy.specRef || ref === policy.keptRef) return applied;
    return ignored("this branch isn't followed: it is neither spec.git.ref nor in spec.webhook.allowedRefs");
  }
  if (!isValidRefName(ref)) return invalidRef;
  if (!resolveRef(ref, refs)) return { kind: 'missing', message: 'the repository has no such branch' };
  return { kind: 'accepted', intent: { target: { ref, source: 'Push' }, at: madeAt } };
}

type Pushed = Pick<OpenIntent, 'ref' | 'madeAt'>;

/** Whether a push requests that its branch is followed. */
export function competes(push: Pushed, policy: RefPolicy): boolean {
  return !isTracked(push, policy) && matchAllowedRefs(policy.allowedRefs, [push.ref]) === 'yes';
}

/** Whether spec.git.ref named the branch when it was pushed. */
function isTracked({ ref, madeAt }: Pushed, { specRef, editedAt }: RefPolicy): boolean {
  return ref === specRef && madeAt >= editedAt;
}

const applied: Judgement = { kind: 'final', outcome: { outcome: 'Applied' } };

const ignored = (message: string): Judgement => ({ kind: 'final', outcome: { outcome: 'Ignored', message } });

const invalidRef: Judgement = { kind: 'final', outcome: { outcome: 'Failed', message: 'not a valid git ref' } };

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

/** Maximum length of a full ref name whose short name can be followed (characters). */
const MAX_NAME = BOUNDS.ref + 'refs/heads/'.length;
/**
 * Limit for characters of globs times characters of names: about 60 ms at worst. It allows four names of the maximum
 * length with the longest globs, or a thousand ordinary names with ten ordinary globs.
 */
const MAX_STEPS = 8 * BOUNDS.allowedRefs * MAX_NAME;

/**
 * Matches refs, by full or short name, with globs. The globs come from a tenant and the names from a server, so their
 * product is limited: `undecided` if there are too many names for these globs.
 */
function matchAllowedRefs(globs: readonly string[], names: Iterable<string>): 'yes' | 'no' | 'undecided' {
  const tests = globs.map(compileGlob);
  const charactersOfGlobs = globs.reduce((sum, glob) => sum + glob.length, 0);
  let steps = 0;
  for (const name of names) {
    if (!isFollowable(name)) continue;
    if (steps >= MAX_STEPS) return 'undecided';
    for (const spelling of new Set([name, shortNameOf(name)])) {
      steps += charactersOfGlobs * spelling.length;
      if (tests.some((isMatch) => isMatch(spelling))) return 'yes';
    }
  }
  return 'no';
}

/** Whether a name that a server returned is short enough for a ref. */
const isFollowable = (name: string): boolean => name.length <= MAX_NAME;

const shortNameOf = (name: string): string => name.replace(/^refs\/(?:heads|tags)\//, '');
