import { BOUNDS } from '../../shared/api/bounds.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { Release, ReleaseName } from '../../shared/domain/releases.ts';
import { ALL } from '../../shared/domain/waves.ts';
import { plansOf, previewOf } from './preview.ts';
import type { RolloutInput, RolloutState, Wait } from './rollout-input.ts';

/** Characters of a digest that are kept. */
const DIGEST_LENGTH = 16;

interface Circumstances {
  rollout: RolloutStatus;
  input: RolloutInput;
}

/** Returns the reason why a wave of a release can't begin. */
export function waitBefore(wave: number, release: Release, { rollout, input }: Circumstances): Wait | undefined {
  const { spec, window } = input;
  if (!window.isOpen) return { kind: 'window' };
  const isApproved = spec.waves?.[wave]?.approval !== true || coversAll(release, rollout, input);
  return isApproved ? undefined : { kind: 'approval' };
}

/** Whether the approval is of this commit and revision. */
function isOf({ approved, approvedRevision }: RolloutInput, { commit, revision }: ReleaseName): boolean {
  return approved === commit && (approvedRevision ?? revision) === revision;
}

/** Whether a release is approved with all changes that gateways report. */
function coversAll(release: Release, rollout: RolloutStatus, input: RolloutInput): boolean {
  if (!isOf(input, release)) return false;
  const known = rollout.handled?.approvedDigests;
  return (
    !known ||
    (known.length === 1 && known[0] === ALL) ||
    digestsOf(release, rollout, input).every((digest) => known.includes(digest))
  );
}

/** Records the changes that an approval applies to: those that the gateways report once the preview is over. */
export function withApproval(state: RolloutState, release: Release | undefined, input: RolloutInput): RolloutState {
  const { rollout, history } = state;
  const { handled } = rollout;
  const preview = release && previewOf(release, rollout);
  if (!preview?.endedAt || !handled || handled.approvedDigests || !isOf(input, preview)) return state;
  const digests = digestsOf(preview, rollout, input);
  // Without any report, the user could only approve the commit.
  const isOfAll = preview.reported === 0 || digests.length > BOUNDS.approvedDigests;
  const approvedDigests = isOfAll ? [ALL] : digests;
  return { history, rollout: { ...rollout, handled: { ...handled, approvedDigests } } };
}

/** Returns the different changes that gateways report for a release, shortened. */
function digestsOf(release: ReleaseName, rollout: RolloutStatus, { gateways }: RolloutInput): string[] {
  const changed = plansOf(release, rollout, gateways).filter(({ plan }) => !plan.isUnchanged);
  return [...new Set(changed.map(({ plan }) => plan.digest.slice(0, DIGEST_LENGTH)))].sort();
}
