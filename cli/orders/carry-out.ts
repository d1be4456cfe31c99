import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { approveRelease } from '../client/approve-release.ts';
import type { Access } from '../client/connect.ts';
import { isConflict, patchGatewaySync } from '../client/patch.ts';
import { Problem } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import type { Beyond } from '../fleet/beyond.ts';
import { agreementOf, type EffectOf, type OrderChange, type ReleaseApproval } from './order-effect.ts';

/** A confirmed change: see {@link agreementOf}. */
export interface Order {
  name: string;
  effectOf: EffectOf;
  /** Reads the data that the effect depends on, if it needs more than the resource. */
  read?: ((gatewaySync: GatewaySync) => Promise<Beyond>) | undefined;
  agreed: string;
}

/** Maximum attempts if the resource changes during the write and the effect stays the same. */
const TRIES = 10;
/** Maximum time for a running controller to see a change (ms). */
const NOTICED_WITHIN_MS = 15_000;
const POLL_MS = 200;

/** Makes exactly the confirmed change, even if the resource has changed in the meantime, or none. Throws `Problem`. */
export async function carryOut(access: Access, order: Order): Promise<void> {
  const before = await write(access, order, { makesRoom: true });
  if (!before) return;
  await untilNoticed(access, order.name, before);
  await write(access, order, { makesRoom: false });
}

type Confirmed = OrderChange | ReleaseApproval;

/**
 * Makes the change. With `makesRoom`, removes a handled annotation of an earlier one instead, if there is one, and returns
 * it: it can be set again only after the controller has seen the removal.
 */
async function write(
  access: Access,
  order: Order,
  { makesRoom }: { makesRoom: boolean },
): Promise<OrderChange['before']> {
  for (let tries = 1; ; tries++) {
    const gatewaySync = await getGatewaySync(access, order.name);
    const now = confirmedEffect(gatewaySync, order, await order.read?.(gatewaySync));
    const before = makesRoom && now.kind === 'change' ? now.before : undefined;
    try {
      if (before) await patchGatewaySync(access, gatewaySync.metadata, { annotations: { [before.annotation]: null } });
      else await writeEffect(access, now, gatewaySync.metadata);
      return before;
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
  }
}

/** Writes an effect on the resource that was read. */
async function writeEffect(access: Access, effect: Confirmed, metadata: ObjectMeta): Promise<void> {
  if (effect.kind === 'approval') return approveRelease(access, effect.approval);
  const { change } = effect;
  await patchGatewaySync(access, metadata, typeof change === 'function' ? change(access.serverTime()) : change);
}

/** Returns the effect. Throws `Problem` if it differs from the confirmed one. */
function confirmedEffect(gatewaySync: GatewaySync, { effectOf, agreed }: Order, beyond: Beyond | undefined): Confirmed {
  const now = effectOf(gatewaySync, beyond);
  if (now.kind === 'done' || agreementOf(now) !== agreed)
    throw new Problem(
      `nothing was changed, because the resource has changed in the meantime; the new effect would be: ${now.says}`,
      'ResourceChanged',
    );
  return now;
}

/** Waits until the controller has seen the removal of an annotation. */
async function untilNoticed(
  access: Access,
  name: string,
  { isGone }: NonNullable<OrderChange['before']>,
): Promise<void> {
  for (const deadline = performance.now() + NOTICED_WITHIN_MS; ; await sleep(POLL_MS)) {
    if (isGone(await getGatewaySync(access, name))) return;
    if (performance.now() > deadline)
      throw new Problem(
        'the controller does not react to the removal of the earlier request: check that it runs, then try again',
        'TimedOut',
      );
  }
}
