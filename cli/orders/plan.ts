import { createHash } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import type { Change } from '../client/patch.ts';
import { addressOf } from '../fleet/names.ts';

/** What an order comes to, for the resource as it is. */
export type Plan =
  /** There is nothing to do. */
  { kind: 'done'; says: string } | PlannedChange;

export interface PlannedChange {
  kind: 'change';
  /** What will happen, in sentences. */
  says: string;
  /** What is written. A request for a sync holds the time at which it is made, in milliseconds since the epoch. */
  change: Change | ((now: number) => Change);
  /** What it is about, such as commits in full: as long as that is the same, it is what somebody agreed to. */
  about: readonly string[];
  /** An order that counts once and was carried out before: it is removed first. */
  before?: { annotation: string; isGone: (gatewaySync: GatewaySync) => boolean };
}

/** Decides what to do. Throws `Problem` where that is not possible. */
export type Planner = (gatewaySync: GatewaySync) => Plan;

/**
 * What somebody agrees to, as a digest to compare. Words are for people: two commits may look the same in them, and
 * numbers of gateways change all the time. As it is, it may be of any length, and hold what a page does not show.
 */
export const agreementOf = ({ change, about }: PlannedChange): string =>
  createHash('sha256')
    .update(JSON.stringify([typeof change === 'function' ? {} : change, about]))
    .digest('hex');

/**
 * An order that counts once, by an annotation: nothing to do where it waits for the controller, and where it was carried
 * out before, it is removed before it comes again.
 */
export function planOnce(
  gatewaySync: GatewaySync,
  kind: 'rollback' | 'retry',
  { value, says, about }: { value: string; says: string; about: readonly string[] },
): Plan {
  const annotation = ROLLOUT_ANNOTATIONS[kind];
  const address = addressOf(gatewaySync);
  const handledOf = ({ status }: GatewaySync) => status?.rollout?.handled?.[kind];
  const isThere = gatewaySync.metadata.annotations?.[annotation] === value;
  if (isThere && handledOf(gatewaySync) !== value)
    return { kind: 'done', says: `${address} already has this request: the controller has not handled it yet.` };
  return {
    kind: 'change',
    says: `${address}: ${says}`,
    change: { annotations: { [annotation]: value } },
    about,
    ...(isThere && { before: { annotation, isGone: (now: GatewaySync) => handledOf(now) === undefined } }),
  };
}
