import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { RolloutInput } from './rollout-input.ts';
import { iso } from './transitions.ts';

/**
 * Replaces times in the future. The API server's clock may be ahead of ours, and ours may have been set back. No
 * deadline takes longer than it should because of that.
 */
export function withoutFutureTimes(
  before: RolloutStatus,
  received: RolloutInput,
): { rollout: RolloutStatus; input: RolloutInput } {
  const { now, previewIntervalMs } = received;
  const { preview, inProgress } = before;
  const rollout = {
    ...past(before, now),
    preview: preview && past(preview, now),
    inProgress: inProgress?.map((entry) => past(entry, now)),
    // The only time that can be in the future.
    ...past({ nextPreviewAt: before.nextPreviewAt }, now + previewIntervalMs),
  };
  const begunAt = Math.min(now, Date.parse(rollout.startedAt));
  const gateways = received.gateways.map((gateway) => ({
    ...past(gateway, now),
    createdAt: gateway.createdAt > now ? begunAt : gateway.createdAt,
  }));
  return { rollout, input: { ...received, gateways } };
}

const TIME = /(At|[sS]ince)$/;

/** Returns a copy in which no time is later than `end`. Times are texts in the status, and numbers in gateways. */
function past<T extends object>(fields: T, end: number): T {
  const copy = { ...fields };
  for (const [name, value] of Object.entries(fields)) {
    if (!TIME.test(name)) continue;
    if (typeof value === 'number' && value > end) Object.assign(copy, { [name]: end });
    if (typeof value === 'string' && Date.parse(value) > end) Object.assign(copy, { [name]: iso(end) });
  }
  return copy;
}
