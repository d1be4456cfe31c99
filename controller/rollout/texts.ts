import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import type { ReleaseContent } from '../../shared/domain/rollout/releases.ts';
import { oneLine } from '../../shared/domain/text/text.ts';
import { missingIn, type PreviewedGateway, staleIn } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';

/** Describes which gateways failed, and the reason of the first one. */
export function failureOf({ failures = [], failureMessage }: RolloutStatus): string {
  const whose = failures.length > 1 ? `${failures[0]}: ` : '';
  return `failed on ${named(failures)}${failureMessage === undefined ? '' : ` (${whose}${failureMessage})`}`;
}

/** Lists the gateways to which a release can't be delivered, grouped by the message. */
export function previewFailureOf(failures: readonly PreviewedGateway[]): string {
  const groups = [...Map.groupBy(failures, ({ preview }) => preview.failure ?? '')]
    .map(([failure, members]) => ({ failure, names: namesOf(members) }))
    .sort((a, b) => b.names.length - a.names.length || (a.failure < b.failure ? -1 : 1));
  const others = groups.length > MAX_GROUPS ? [`${groups.length - MAX_GROUPS} other messages`] : [];
  const texts = groups
    .slice(0, MAX_GROUPS)
    .map(({ failure, names }) => `${oneLine(failure, MAX_PART)} (${named(names)})`);
  return oneLine([...texts, ...others].join('; '), BOUNDS.text);
}

/** Maximum number of messages that are listed. */
const MAX_GROUPS = 3;
/** Maximum length of an agent's text within a message. */
const MAX_PART = 200;

/** Describes why a request for a commit failed; the text doesn't become outdated. */
export function givenUpMessage(commit: string, rollout: RolloutStatus, { isNew }: { isNew: boolean }): string {
  if (isNew)
    return `commit ${commit} failed or was rolled back before; to retry it, set sync.io/retry-rollout: ${commit}`;
  const { failures = [], previewFailure } = rollout.commit === commit ? rollout : {};
  const failed = failures.length > 0 ? failureOf(rollout) : undefined;
  const why = previewFailure === undefined ? failed : `can't be delivered: ${previewFailure}`;
  return oneLine(`commit ${commit} ${why ?? 'was rolled back before all gateways had it'}`, BOUNDS.message);
}

/** Describes the wait for the preview of a release: the one that is rolled out, or the next one. */
export function previewWait(release: ReleaseContent, rollout: RolloutStatus, input: RolloutInput): string {
  const { commit } = release;
  const { preview, nextPreviewAt } = rollout;
  if (preview)
    return `the gateways have been previewing commit ${commit} since ${preview.startedAt}: ${numbersOf(preview, rollout, input)}`;
  const stale = namesOf(staleIn(release, rollout, input));
  if (stale.length > 0) return `waiting for ${named(stale)} to start another preview of commit ${commit}`;
  return `the preview of commit ${commit} begins at ${nextPreviewAt}, because only one begins per minute on average`;
}

/** Describes the preview of a commit that waits; empty if there is none. */
export function previewText(rollout: RolloutStatus, input: RolloutInput): string {
  const { preview, nextCommit } = rollout;
  return preview && preview.commit === nextCommit ? `; preview: ${numbersOf(preview, rollout, input)}` : '';
}

function numbersOf(preview: RolloutPreview, rollout: RolloutStatus, { gateways }: RolloutInput): string {
  const { total, reported, unchanged, failing, files } = preview;
  const missing = listed(' (missing: ', namesOf(missingIn(preview, rollout, gateways)), ')');
  const failures = failing > 0 ? [`can't be delivered to ${failing}`] : [];
  const progress = `${reported} of ${total} have reported${missing}`;
  if (reported === 0) return progress;
  const parts = [`changes ${files} file(s)`, `leaves ${unchanged} gateway(s) unchanged`, ...failures];
  return `${progress}; it ${LIST.format(parts)}`;
}

/** Describes why no gateway is unchanged by any commit; empty if that isn't the case. */
export function everyCommitText({ preview }: RolloutStatus): string[] {
  const path = preview?.everyCommit;
  if (path === undefined) return [];
  return [`every commit changes ${oneLine(path, MAX_PART)}, because its template or patch uses the commit or the ref`];
}

const LIST = new Intl.ListFormat('en');

/** Lists the first three by name. */
export function named(names: readonly string[]): string {
  const more = names.length > 3 ? [`${names.length - 3} more`] : [];
  return names.length === 0 ? 'no gateway' : LIST.format([...names.toSorted().slice(0, 3), ...more]);
}

/** Lists names after an introduction; empty if there are none. */
export const listed = (introduction: string, names: readonly string[], end = ''): string =>
  names.length > 0 ? introduction + named(names) + end : '';

export const namesOf = (gateways: readonly { name: string }[] = []): string[] => gateways.map(({ name }) => name);
