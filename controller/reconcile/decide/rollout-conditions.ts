import type { RolloutPhase } from '../../../shared/api/rollout.ts';
import type { Facts } from './condition-facts.ts';
import { accessProblemIn } from './gateway-conditions.ts';
import { asFalse, asTrue, asUnknown, type Verdict } from './merge-conditions.ts';

/** Present with `spec.rollout`. */
export function judgeRollout(
  facts: Facts,
): Verdict<RolloutPhase | 'Waiting' | 'InvalidRollout' | 'PreviewFailed'> | undefined {
  const { rollout, gatewaySync, rolloutProblems, isHeldBack } = facts;
  if (!rollout && !gatewaySync.spec.rollout) return undefined;
  if (rolloutProblems.length > 0) return asFalse('InvalidRollout', rolloutProblems.join('; '));
  if (!rollout) return asUnknown('Waiting', whyHeldBack(facts));
  const { phase, nextCommit, previewFailure, message = '' } = rollout;
  if (phase === 'Stopped' && previewFailure !== undefined) return asFalse('PreviewFailed', message);
  if (phase === 'Stopped' || phase === 'RolledBack') return asFalse(phase, message);
  if (nextCommit !== undefined) return asUnknown('Waiting', message);
  if (phase !== 'Complete') return asUnknown(phase, message);
  // The completed release is the previous one.
  return isHeldBack ? asUnknown('Waiting', whyHeldBack(facts)) : asTrue(phase, message);
}

function whyHeldBack(facts: Facts): string {
  if (facts.resolution.kind !== 'resolved')
    return "the newest edit of spec.git or spec.sync isn't part of a rollout yet";
  return (
    accessProblemIn(facts)?.message ?? 'the rollout of the newest release starts when its SyncRelease has been written'
  );
}
