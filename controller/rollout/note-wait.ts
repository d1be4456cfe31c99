import type { RolloutStatus, RolloutWait } from '../../shared/api/rollout.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { lateAt } from './deadlines.ts';
import { messageOf, summaryOf } from './explain.ts';
import type { Facts, Wait } from './facts.ts';
import { isRolledBack } from './judge-gateway.ts';
import { iso } from './transitions.ts';
import { holdersIn } from './wave-messages.ts';

/**
 * Notes what a rollout waits for and since when, by which later steps decide (see `isEmptyForLong`), its counts, and its
 * texts.
 */
export function noteWait(facts: Facts, wait: Wait): RolloutStatus {
  const { rollout, input } = facts;
  const waitsFor = waitsForIn(facts, wait);
  const waitedSince = waitsFor === rollout.waitsFor ? rollout.waitsSince : undefined;
  const waitsSince = waitsFor && (waitedSince ?? iso(input.now));
  const waiting = { ...rollout, ...countsOf(facts), waitsFor, waitsSince };
  const explained = { ...facts, rollout: waiting };
  const texts = { summary: summaryOf(explained), message: messageOf(explained, wait) };
  return withoutUndefined({ ...waiting, ...texts });
}

const WAITS: Partial<Record<Wait['kind'], RolloutWait>> = {
  approval: 'Approval',
  window: 'Window',
  givenUp: 'Retry',
  noGateway: 'Gateways',
};

/**
 * Returns the cause outside the rollout that it waits for. Gateways in progress finish or fail, but some do neither for
 * longer than deadline and soak, because they are healthy now and then.
 */
function waitsForIn(facts: Facts, wait: Wait): RolloutWait | undefined {
  const isLate = facts.input.now >= (lateAt(facts.rollout, facts.input) ?? Number.POSITIVE_INFINITY);
  if (wait.kind === 'soak') return isLate ? 'Gateways' : undefined;
  if (wait.kind !== 'gateways') return WAITS[wait.kind];
  return isLate || !holdersIn(facts, wait.wave).areInProgress ? 'Gateways' : undefined;
}

/** If all gateways have the release, the counts don't change, so that no status is written when pods are replaced. */
function countsOf({ rollout, counted, released, verified }: Facts) {
  const { phase, failures = [], total } = rollout;
  if ((phase === 'Complete' || phase === 'RolledBack') && total > 0 && rollout.verified >= total) return {};
  const isBackwards = phase === 'RollingBack' || phase === 'RolledBack';
  const healthy = isBackwards ? counted.filter((gateway) => isRolledBack(gateway, rollout)).length : verified.size;
  return {
    total: counted.length,
    admitted: isBackwards ? 0 : released.size,
    verified: healthy,
    failed: failures.length,
  };
}
