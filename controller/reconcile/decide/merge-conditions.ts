import { BOUNDS } from '../../../shared/api/bounds.ts';
import type { Condition, ConditionType } from '../../../shared/api/gateway-sync-status.ts';
import type { Problem, Reason } from '../../../shared/api/reasons.ts';
import { conditionOf } from '../../../shared/domain/kubernetes/condition-of.ts';
import { wholeSeconds } from '../../../shared/domain/text/duration.ts';
import { omit } from '../../../shared/domain/text/objects.ts';
import type { ObservedGatewaySync } from '../../watch/observed-gateway-sync.ts';

/** A condition without a type and a time. */
export interface Verdict<R extends Reason = Reason> extends Problem<R> {
  status: Condition['status'];
}

/** Makes the verdict of a condition; the reason and the message explain it. */
const judge =
  (status: Verdict['status']) =>
  <R extends Reason>(reason: R, message: string): Verdict<R> => ({ status, reason, message });
export const asTrue = judge('True');
export const asFalse = judge('False');
export const asUnknown = judge('Unknown');

/** An earlier condition, which keeps its generation. Another version may have written its reason. */
export type Earlier = Omit<Condition, 'type'>;

export type Verdicts = Partial<Record<ConditionType, Verdict | Earlier>>;

/**
 * Merges verdicts into the previous conditions: `lastTransitionTime` changes only with the status
 * (https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md).
 */
export function mergeConditions(
  before: Condition[] | undefined,
  verdicts: Verdicts,
  at: { now: number; generation: number },
): Condition[] {
  return Object.entries(verdicts).map(([type, verdict]) => {
    const previous = before?.find((condition) => condition.type === type);
    const kept = previous?.status === verdict.status ? previous.lastTransitionTime : undefined;
    return {
      type,
      observedGeneration: at.generation,
      ...verdict,
      message: verdict.message.slice(0, BOUNDS.message).toWellFormed(),
      lastTransitionTime: kept ?? wholeSeconds(at.now),
    };
  });
}

/** Returns the previous condition, if nothing new is known. */
export function carriedOver({ status }: ObservedGatewaySync, type: ConditionType): Earlier | undefined {
  const before = conditionOf(status.conditions, type);
  return before && omit(before, 'type');
}
