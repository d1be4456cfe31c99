import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { Access } from '../client/connect.ts';
import { isConflict, patchGatewaySync } from '../client/patch.ts';
import { Problem } from '../client/problem.ts';
import { getGatewaySync } from '../client/read.ts';
import { agreementOf, type PlannedChange, type Planner } from './plan.ts';

/** What is to be done, and what somebody agreed to: see {@link agreementOf}. */
export interface Order {
  name: string;
  plan: Planner;
  agreed: string;
}

/** Times that the resource may change while it is written, as long as the plan stays the same. */
const TRIES = 10;
/** A controller that runs sees a change at once. */
const NOTICED_WITHIN_MS = 15_000;
const LOOK_MS = 200;

/** Does exactly what was agreed to, also where the resource changes meanwhile, or nothing. Throws `Problem`. */
export async function carryOut(access: Access, order: Order): Promise<void> {
  const gatewaySync = await getGatewaySync(access, order.name);
  const { before } = planAgain(gatewaySync, order);
  if (before) await makeRoom(access, gatewaySync, before);
  await write(access, order);
}

async function write(access: Access, order: Order): Promise<void> {
  for (let tries = 1; ; tries++) {
    const gatewaySync = await getGatewaySync(access, order.name);
    const { change } = planAgain(gatewaySync, order);
    const { resourceVersion } = gatewaySync.metadata;
    const now = typeof change === 'function' ? change(access.serverTime()) : change;
    try {
      await patchGatewaySync(access, { name: order.name, resourceVersion }, now);
      return;
    } catch (error) {
      if (!isConflict(error) || tries === TRIES) throw error;
    }
  }
}

/** What it is now: the same, or a `Problem`. */
function planAgain(gatewaySync: GatewaySync, { plan, agreed }: Order): PlannedChange {
  const now = plan(gatewaySync);
  if (now.kind === 'done' || agreementOf(now) !== agreed)
    throw new Problem(`nothing was changed, since the resource has changed meanwhile; now it would be: ${now.says}`);
  return now;
}

/** Removes an order that was carried out, and waits until the controller has seen that: only then it may come again. */
async function makeRoom(
  access: Access,
  { metadata: { name } }: GatewaySync,
  { annotation, isGone }: NonNullable<PlannedChange['before']>,
): Promise<void> {
  await patchGatewaySync(access, { name }, { annotations: { [annotation]: null } });
  for (const deadline = performance.now() + NOTICED_WITHIN_MS; ; await sleep(LOOK_MS)) {
    if (isGone(await getGatewaySync(access, name))) return;
    if (performance.now() > deadline)
      throw new Problem(
        `${annotation} was removed, to be set again, and the controller does not notice: see whether it runs, then try again`,
      );
  }
}
