import type { Condition, ConditionType } from '../../api/gateway-sync-status.ts';

/** Returns the condition of a type, if there is one. */
export function conditionOf(conditions: readonly Condition[] | undefined, type: ConditionType): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}
