import type { RequestSource } from '../../shared/api/names.ts';
import type { Delivery } from './delivery.ts';
import { extractRef } from './extract-ref.ts';

/** One of several refs that a delivery tells of: a full name, and when it was made, in milliseconds (0: not told). */
export interface Candidate {
  ref: unknown;
  time: number;
}

/**
 * Makes one delivery of several refs: at most one request, of the tags the newest, and one push, of the branches the
 * newest; of equally old ones the first. No sync is lost by that: whatever branch is named, the tracked ref is looked
 * at. A ref that is no valid name is passed over as long as another one is valid.
 */
export function chooseCandidates(candidates: readonly Candidate[], source: RequestSource): Delivery {
  const newestFirst = [...candidates].sort((a, b) => b.time - a.time);
  const read = newestFirst.map(({ ref }) => extractRef(ref, source));
  const request = read.find((each) => each?.kind === 'request');
  const push = read.find((each) => each?.kind === 'push');
  if (request && push) return { ...request, pushedRef: push.ref };
  return request ?? push ?? read.find((each) => each !== undefined) ?? { kind: 'nothing', reason: 'NoRef', source };
}
