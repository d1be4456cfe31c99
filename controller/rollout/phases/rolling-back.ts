import type { Facts, Next } from '../facts.ts';
import { notRolledBack } from '../judge-gateway.ts';
import { stay } from './stay.ts';

/** Waits until all gateways are back on the stable release, or the deadline has passed. */
export function waitForReturns(facts: Facts): Next<'RolledBack'> {
  const { rollout, input } = facts;
  const isOver = input.now - Date.parse(rollout.startedAt) >= input.deadlineMs;
  const isDone = isOver || notRolledBack(rollout, input.gateways).length === 0;
  return isDone ? { to: 'RolledBack' } : stay(facts);
}
