import type { GitRequest } from '../../testbed/git-request.ts';

/** Seconds between two queries of a repository's refs, within a span of time. */
export interface PollGaps {
  /** Gaps that ended with a poll. Gaps that ended with a push or a request are shorter than the poll interval. */
  gaps: number[];
  /** Repositories whose poll was late when the span ended. */
  overdue: number;
}

/** A poll is due after 0.95 to 1.05 times its interval. */
const SPREAD = 0.05;

/** Computes the gaps; `from` and `to` are milliseconds since the epoch, the interval is in seconds. */
export function pollGaps(
  requests: Pick<GitRequest, 'repository' | 'command' | 'at'>[],
  { from, to, interval }: { from: number; to: number; interval: number },
): PollGaps {
  const last = new Map<string, number>();
  const gaps: number[] = [];
  for (const { repository, command, at } of requests) {
    if (command !== 'ls-refs' || at > to) continue;
    const before = last.get(repository);
    last.set(repository, at);
    const gap = before === undefined ? 0 : (at - before) / 1000;
    if (at >= from && gap >= interval * (1 - SPREAD) - 0.1) gaps.push(gap);
  }
  const late = interval * (1 + SPREAD) + 1;
  return { gaps, overdue: [...last.values()].filter((at) => (to - at) / 1000 > late).length };
}
