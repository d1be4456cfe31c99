import { answersRange } from '../../shared/domain/git/answers-range.ts';
import { earliest } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { Followed } from './followed.ts';
import type { Open } from './intents.ts';
import { nextQueryInMs } from './next-query.ts';
import { type Ending, type Outcomes, pushFields, requestFields } from './outcomes.ts';
import type { RangeContext } from './range-context.ts';
import { followedWords, whyNotFollowed } from './why-not-followed.ts';

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
  const { reason, message } = whyNotFollowed(asked.ref, context, followed);
  const nextInMs = reason === 'TagNotFound' ? nextQueryInMs(asked.madeAt, context.now) : undefined;
  if (nextInMs === undefined) return { ending: { outcome: 'Ignored', reason, message } };
  const waits = `the repository doesn't have the tag ${asked.ref} yet: it is queried again for up to a minute, because some git servers send webhooks before they show a tag`;
  return { ending: { outcome: 'Pending', message: waits }, requeryInMs: nextInMs };
}

const isAnsweredBy = (ref: string, { winner, resolved }: Followed): boolean =>
  answersRange(ref, winner.target, resolved.commit);
