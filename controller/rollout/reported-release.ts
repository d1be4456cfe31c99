import { entryOf, isSame, type Release } from '../../shared/domain/rollout/releases.ts';
import type { RolloutGateway, RolloutInput } from './rollout-input.ts';

interface ReportedInput extends Pick<RolloutInput, 'newest' | 'delivered' | 'storedRevisions'> {
  gateways: readonly Pick<RolloutGateway, 'report' | 'isPaused'>[];
}

/**
 * Returns the release that most gateways report, for a resource whose status has no rollout. A report without a
 * revision is a vote for the delivered release, which gateways follow without `spec.rollout`. A healthy gateway
 * outweighs any number of others. In a tie, the newest release loses, and then goes through the waves. A revision that
 * isn't stored is ignored, because gateways couldn't read it.
 */
export function reportedRelease(input: ReportedInput): Release | undefined {
  const { gateways, newest, delivered, storedRevisions = [] } = input;
  const reported = new Map<string, { release: Release; votes: number }>();
  const readable = [newest?.revision, delivered?.revision, ...storedRevisions];
  for (const { report, isPaused } of gateways) {
    const { commit, revision, state } = report ?? {};
    if (commit === undefined) continue;
    const release = revision === undefined ? delivered : { commit, ref: commit, revision };
    if (!release || !readable.includes(release.revision)) continue;
    const name = entryOf(release);
    const full = revision === undefined ? HEALTHY + 1 : HEALTHY;
    const weight = !isPaused && (state === 'healthy' || revision === undefined) ? full : 1;
    reported.set(name, { release, votes: (reported.get(name)?.votes ?? 0) + weight });
  }
  const isNewest = (release: Release) => Number(isSame(release, newest ?? {}));
  const [first] = [...reported.values()].sort(
    (a, b) =>
      b.votes - a.votes ||
      isNewest(a.release) - isNewest(b.release) ||
      (entryOf(a.release) < entryOf(b.release) ? -1 : 1),
  );
  return first?.release;
}

/** Votes of a healthy gateway; exceeds the number of gateways. One more, without a revision, decides a tie. */
const HEALTHY = 1_000_000;
