import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';

/** Describes which gateways failed, and the reason of the first one. */
export function failureOf({ failures = [], failureMessage }: RolloutStatus): string {
  const whose = failures.length > 1 ? `${failures[0]}: ` : '';
  return `failed on ${named(failures)}${failureMessage === undefined ? '' : ` (${whose}${failureMessage})`}`;
}

/** Describes why a request for a commit failed; the text doesn't become outdated. */
export function givenUpMessage(commit: string, rollout: RolloutStatus, { isNew }: { isNew: boolean }): string {
  if (isNew)
    return `commit ${commit} failed or was rolled back before; to retry it, set sync.io/retry-rollout: ${commit}`;
  const why = rollout.commit === commit && (rollout.failures ?? []).length > 0 ? failureOf(rollout) : undefined;
  return `commit ${commit} ${why ?? 'was rolled back before all gateways had it'}`
    .slice(0, BOUNDS.message)
    .toWellFormed();
}

const LIST = new Intl.ListFormat('en');

/** Lists the first three by name. */
export function named(names: readonly string[]): string {
  const more = names.length > 3 ? [`${names.length - 3} more`] : [];
  return names.length === 0 ? 'no gateway' : LIST.format([...names.toSorted().slice(0, 3), ...more]);
}
