import type { RolloutPreview, RolloutStatus } from '../../shared/api/rollout.ts';
import { named, shortened } from './failure-messages.ts';
import { iso } from './lifecycle.ts';
import { staleIn } from './preview.ts';
import type { RolloutInput } from './rollout-input.ts';

/** Describes the wait for the preview of a commit: the one that is rolled out, or the next one. */
export function previewWait(commit: string, rollout: RolloutStatus, input: RolloutInput): string {
  const { preview, previewedAt = iso(input.now) } = rollout;
  if (preview)
    return `waiting for the gateways to preview commit ${commit} since ${preview.startedAt}: ${numbersOf(preview)}`;
  const stale = staleIn(rollout, rollout, input).map(({ name }) => name);
  if (stale.length > 0) return `waiting for ${named(stale)} to start another preview of commit ${commit}`;
  return `the gateways preview commit ${commit} from ${previewedAt}, because previews begin at most once a minute`;
}

/** Describes the preview of a commit that waits, or says when it begins; empty if there is none. */
export function previewText({ preview, previewedAt, nextCommit }: RolloutStatus, { now }: RolloutInput): string {
  if (preview) return preview.commit === nextCommit ? `; preview: ${numbersOf(preview)}` : '';
  if (previewedAt === undefined || now >= Date.parse(previewedAt)) return '';
  return `; the gateways preview it from ${previewedAt}, because previews begin at most once a minute`;
}

function numbersOf({ total, reported, unchanged, failing, files }: RolloutPreview): string {
  const failures = failing > 0 ? `, and it can't be delivered to ${failing}` : '';
  const progress = `${reported} of ${total} have reported`;
  if (reported === 0) return progress;
  return `${progress}, it changes ${files} file(s), leaves ${unchanged} gateway(s) unchanged${failures}`;
}

/** Describes why no gateway is unchanged by any commit; empty if that isn't the case. */
export function everyCommitText({ preview }: RolloutStatus): string[] {
  const path = preview?.everyCommit;
  if (path === undefined) return [];
  return [`every commit changes gateways because the template ${shortened(path)} uses .Commit or .Ref`];
}
