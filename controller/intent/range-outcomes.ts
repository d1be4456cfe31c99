import { answersRange } from '../../shared/domain/answers-range.ts';
import { earliest } from '../../shared/domain/duration.ts';
import { withoutUndefined } from '../../shared/domain/objects.ts';
import type { Followed } from './followed.ts';
import type { Open } from './intents.ts';
import { readVersionTag } from './newest-in-range.ts';
import { nextQueryInMs } from './next-query.ts';
import { type Ending, type Outcomes, pushFields, requestFields } from './outcomes.ts';
import type { RangeContext } from './range-context.ts';

/**
 * Returns the outcomes of the current request and push with `spec.git.semver`. Both only trigger a query, and neither
 * chooses the tag.
 */
export function rangeOutcomes(context: RangeContext, followed: Followed | undefined): Outcomes {
  const { request, push } = context.intents;
  const { lastRequest } = context.gatewaySync.status;
  const requested = request && endOf(request, context, followed);
  const pushed = push && endOf(push, context, followed);
  const isDisplaced = lastRequest?.outcome === 'Applied' && followed && !isAnsweredBy(lastRequest.ref, followed);
  const displaced = isDisplaced
    ? { ...lastRequest, outcome: 'Superseded' as const, message: followedWords(context, followed) }
    : undefined;
  return {
    echo: withoutUndefined({
      lastRequest: requested ? { ...requestFields(request), ...requested.ending } : displaced,
      lastPush: pushed && { ...pushFields(push), ...pushed.ending },
    }),
    requeryInMs: earliest(requested?.requeryInMs, pushed?.requeryInMs),
  };
}

type Asked = Pick<Open<{ ref: string }>, 'ref' | 'madeAt' | 'ignored'>;

function endOf(
  asked: Asked,
  context: RangeContext,
  followed: Followed | undefined,
): { ending: Ending; requeryInMs?: number } {
  if (asked.ignored) return { ending: { outcome: 'Ignored', message: asked.ignored } };
  if (followed && isAnsweredBy(asked.ref, followed)) return { ending: { outcome: 'Applied' } };
  const message = followedWords(context, followed);
  const nextInMs = isExpected(asked.ref, context, followed) ? nextQueryInMs(asked.madeAt, context.now) : undefined;
  if (nextInMs === undefined) return { ending: { outcome: 'Ignored', message } };
  const waits = `the repository doesn't have the tag ${asked.ref} yet: it is queried again for up to a minute, because some git servers send webhooks before they show a tag`;
  return { ending: { outcome: 'Pending', message: waits }, requeryInMs: nextInMs };
}

const isAnsweredBy = (ref: string, { winner, resolved }: Followed): boolean =>
  answersRange(ref, winner.target, resolved.commit);

/** Whether a tag that the repository doesn't show would be followed. */
function isExpected(ref: string, { range }: RangeContext, followed: Followed | undefined): boolean {
  const asked = readVersionTag(ref);
  if (!asked || !range.test(asked.version)) return false;
  const current = followed && readVersionTag(followed.winner.target.ref);
  return !current || asked.version.compare(current.version) > 0;
}

const followedWords = ({ text }: RangeContext, followed: Followed | undefined): string =>
  whatIsFollowed(text, followed?.winner.target.ref);

/** Explains why a push or a request is ignored with `spec.git.semver`, although it triggered a query. */
export function whatIsFollowed(range: string, tag: string | undefined): string {
  if (tag === undefined)
    return `only tags in the range ${range} (spec.git.semver) are followed, and the repository has none`;
  return `${tag} is followed, the newest tag in the range ${range} (spec.git.semver)`;
}
