import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Change } from '../client/patch.ts';

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
 * What somebody agrees to, as text to compare. Words are for people: two commits may look the same in them, and numbers
 * of gateways change all the time.
 */
export const agreementOf = ({ change, about }: PlannedChange): string =>
  JSON.stringify([typeof change === 'function' ? {} : change, about]);
