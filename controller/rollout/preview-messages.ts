import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import type { ReleaseName } from '../../shared/domain/rollout/releases.ts';
import { missingIn, staleIn } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';
import { named, shortened } from './texts.ts';

/** Describes the wait for the preview of a release: the one that is rolled out, or the next one. */
export function previewWait(release: ReleaseName, rollout: RolloutStatus, input: RolloutInput): string {
  const { commit } = release;
  const { preview, nextPreviewAt } = rollout;
  if (preview)
    return `the gateways have been previewing commit ${commit} since ${preview.startedAt}: ${numbersOf(preview, rollout, input)}`;
  const stale = staleIn(release, rollout, input).map(({ name }) => name);
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
  const missing = missingIn(preview, rollout, gateways).map(({ name }) => name);
  const names = missing.length > 0 ? ` (missing: ${named(missing)})` : '';
  const failures = failing > 0 ? [`can't be delivered to ${failing}`] : [];
  const progress = `${reported} of ${total} have reported${names}`;
  if (reported === 0) return progress;
  const parts = [`changes ${files} file(s)`, `leaves ${unchanged} gateway(s) unchanged`, ...failures];
  return `${progress}; it ${LIST.format(parts)}`;
}

const LIST = new Intl.ListFormat('en');

/** Describes why no gateway is unchanged by any commit; empty if that isn't the case. */
export function everyCommitText({ preview }: RolloutStatus): string[] {
  const path = preview?.everyCommit;
  if (path === undefined) return [];
  return [`every commit changes ${shortened(path)}, because its template or patch uses the commit or the ref`];
}
