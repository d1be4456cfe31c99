import type { RolloutStatus } from '../../shared/api/rollout.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import type { RolloutState } from './moves.ts';
import type { RolloutInput } from './rollout-input.ts';
import { iso } from './transitions.ts';

/**
 * Replaces times in the future. The API server's clock may be ahead of ours, and ours may have been set back. No
 * deadline takes longer than it should because of that.
 */
export function withoutFutureTimes(state: RolloutState, input: RolloutInput) {
  const corrected = { ...state, rollout: pastIn(state.rollout, input) };
  return { state: corrected, input: withoutLater(input, corrected.rollout) };
}

function withoutLater(input: RolloutInput, { startedAt }: RolloutStatus): RolloutInput {
  const { gateways, now } = input;
  const begunAt = Math.min(now, Date.parse(startedAt));
  const past = (time: number | undefined) => (time !== undefined && time > now ? now : time);
  return {
    ...input,
    gateways: gateways.map((gateway) => ({
      ...gateway,
      createdAt: gateway.createdAt > now ? begunAt : gateway.createdAt,
      notReadySince: past(gateway.notReadySince),
      readySince: past(gateway.readySince),
      runsSince: past(gateway.runsSince),
    })),
  };
}

const TIMES = ['startedAt', 'waveStartedAt', 'admittedAt', 'soakStartedAt', 'waitsSince'] as const;

function pastIn(rollout: RolloutStatus, { now, previewIntervalMs }: RolloutInput): RolloutStatus {
  const past = (time: string, end = now) => (Date.parse(time) > end ? iso(end) : time);
  const corrected = { ...rollout };
  for (const name of TIMES) if (rollout[name] !== undefined) corrected[name] = past(rollout[name]);
  const { preview, nextPreviewAt, inProgress } = rollout;
  if (inProgress)
    corrected.inProgress = inProgress.map(({ name, since, readinessChangedAt }) =>
      withoutUndefined({
        name,
        since: past(since),
        readinessChangedAt: readinessChangedAt && past(readinessChangedAt),
      }),
    );
  if (preview) corrected.preview = { ...preview, startedAt: past(preview.startedAt) };
  if (nextPreviewAt) corrected.nextPreviewAt = past(nextPreviewAt, now + previewIntervalMs);
  return corrected;
}
