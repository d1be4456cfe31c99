import type { Intent, Verdict } from '../resource/judge-resource.ts';

/** What a report says where there is nothing to sync. */
export const stateOf = {
  unknown: 'Pending',
  absent: 'Pending',
  unsettled: 'Pending',
  refused: 'Error',
  paused: 'Paused',
} as const;

/** A spec that is not settled leaves the last one that was in force. */
export function intentAfter(verdict: Verdict, before: Intent | undefined): Intent | undefined {
  if (verdict.kind === 'act') return verdict.intent;
  return verdict.kind === 'unsettled' ? before : undefined;
}

/**
 * Whether what is under way may still be brought in place. A gateway that changes by waves must not get what it is no
 * longer to have; otherwise a newer commit follows, so that commits that come quickly cannot hold each other up.
 */
export function stillHolds(intent: Intent, verdict: Verdict): boolean {
  if (verdict.kind !== 'act') return verdict.kind === 'unsettled' || verdict.kind === 'unknown';
  const isByWaves = intent.revision !== undefined || verdict.intent.revision !== undefined;
  return !isByWaves || essenceOf(intent) === essenceOf(verdict.intent);
}

const essenceOf = ({ repo, commit, revision, profile, verify, submodules }: Intent): string =>
  JSON.stringify([repo, commit, revision, profile, verify, submodules]);
