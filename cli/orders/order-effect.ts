import { createHash } from 'node:crypto';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import type { NewApproval } from '../client/approve-release.ts';
import type { Change } from '../client/patch.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { addressOf } from '../fleet/names.ts';

/** Effect of an order on the current resource. */
export type OrderEffect =
  /** No change is needed. */
  { kind: 'done'; says: string } | OrderChange | ReleaseApproval;

export interface OrderChange {
  kind: 'change';
  /** Description of the effect. */
  says: string;
  /** Change to write. A request for a sync contains its time (ms since the epoch). */
  change: Change | ((now: number) => Change);
  /** Subjects of the change, such as full commits. The confirmation is valid while they are the same. */
  about: readonly string[];
  /** Annotation of an earlier, identical command, which has to be removed first. */
  before?: { annotation: string; isGone: (gatewaySync: GatewaySync) => boolean };
}

/** An approval, which is written into a SyncRelease. */
export interface ReleaseApproval extends Pick<OrderChange, 'says' | 'about'> {
  kind: 'approval';
  approval: NewApproval;
}

/** Returns the effect of an order. Throws `Problem` if it has none. The effect of an approval depends on the reports. */
export type EffectOf = (gatewaySync: GatewaySync, beyond?: Beyond) => OrderEffect;

/**
 * Returns a digest of a confirmed change. The description isn't part of it: two commits can look the same in it, and
 * numbers of gateways change all the time. A digest limits the length, and hides data from the page.
 */
export const agreementOf = (effect: OrderChange | ReleaseApproval): string =>
  createHash('sha256')
    .update(JSON.stringify([contentOf(effect), effect.about]))
    .digest('hex');

function contentOf(effect: OrderChange | ReleaseApproval): object {
  if (effect.kind === 'approval') return effect.approval;
  return typeof effect.change === 'function' ? {} : effect.change;
}

/**
 * Returns the effect of an annotation that is handled once. If it's pending, no change is needed; if it was handled
 * before, it's removed before it's set again.
 */
export function effectOfAnnotation(
  gatewaySync: GatewaySync,
  kind: 'rollback' | 'retry',
  { value, says, about }: { value: string; says: string; about: readonly string[] },
): OrderEffect {
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
