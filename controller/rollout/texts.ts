import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { PreviewedGateway } from './preview.ts';

/** Describes which gateways failed, and the reason of the first one. */
export function failureOf({ failures = [], failureMessage }: RolloutStatus): string {
  const whose = failures.length > 1 ? `${failures[0]}: ` : '';
  return `failed on ${named(failures)}${failureMessage === undefined ? '' : ` (${whose}${failureMessage})`}`;
}

/** Lists the gateways to which a release can't be delivered, grouped by the message. */
export function previewFailureOf(failures: readonly PreviewedGateway[]): string {
  const groups = [...Map.groupBy(failures, ({ preview }) => preview.failure ?? '')]
    .map(([failure, members]) => ({ failure, names: members.map(({ gateway }) => gateway.name) }))
    .sort((a, b) => b.names.length - a.names.length || (a.failure < b.failure ? -1 : 1));
  const others = groups.length > MAX_GROUPS ? [`${groups.length - MAX_GROUPS} other messages`] : [];
  const texts = groups.slice(0, MAX_GROUPS).map(({ failure, names }) => `${shortened(failure)} (${named(names)})`);
  return shortened([...texts, ...others].join('; '), BOUNDS.text);
}

/** Maximum number of messages that are listed. */
const MAX_GROUPS = 3;

/** Makes a text of an agent fit into one line. */
export const shortened = (text: string, length = 200): string =>
  text
    .replace(/\p{Cc}+/gu, ' ')
    .slice(0, length)
    .toWellFormed();

/** Describes why a request for a commit failed; the text doesn't become outdated. */
export function givenUpMessage(commit: string, rollout: RolloutStatus, { isNew }: { isNew: boolean }): string {
  if (isNew)
    return `commit ${commit} failed or was rolled back before; to retry it, set sync.io/retry-rollout: ${commit}`;
  const { failures = [], previewFailure } = rollout.commit === commit ? rollout : {};
  const failed = failures.length > 0 ? failureOf(rollout) : undefined;
  const why = previewFailure === undefined ? failed : `can't be delivered: ${previewFailure}`;
  return shortened(`commit ${commit} ${why ?? 'was rolled back before all gateways had it'}`, BOUNDS.message);
}

const LIST = new Intl.ListFormat('en');

/** Lists the first three by name. */
export function named(names: readonly string[]): string {
  const more = names.length > 3 ? [`${names.length - 3} more`] : [];
  return names.length === 0 ? 'no gateway' : LIST.format([...names.toSorted().slice(0, 3), ...more]);
}
