import type { Release } from '../../shared/domain/releases.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

interface ReportedInput extends Pick<RolloutInput, 'wanted'> {
  gateways: readonly Pick<RolloutGateway, 'report'>[];
}

/**
 * The release that most gateways report, for a resource whose status has no rollout. Gateways that are healthy with their
 * release count more than any number of others. In a tie the newest release loses: it then goes through the waves.
 * Undefined if no gateway reports a release of a rollout.
 */
export function reportedRelease({ gateways, wanted }: ReportedInput): Release | undefined {
  const reported = new Map<string, { release: Release; votes: number }>();
  for (const { report } of gateways) {
    const { commit, revision, state } = report ?? {};
    if (commit === undefined || revision === undefined) continue;
    const release = { commit, ref: commit, revision };
    const { votes = 0 } = reported.get(`${commit} ${revision}`) ?? {};
    reported.set(`${commit} ${revision}`, { release, votes: votes + (state === 'well' ? HEALTHY : 1) });
  }
  const newest = `${wanted?.commit} ${wanted?.revision}`;
  const [first] = [...reported].sort(
    ([a, { votes: votesForA }], [b, { votes: votesForB }]) =>
      votesForB - votesForA || Number(a === newest) - Number(b === newest) || (a < b ? -1 : 1),
  );
  return first?.[1].release;
}

/** Votes of a healthy gateway; more than there are gateways. */
const HEALTHY = 1_000_000;
