import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REQUEST_ANNOTATIONS } from '../../shared/api/names.ts';
import { gatewaysOf } from './invariants/sample.ts';
import { differenceOf, wantedOf } from './invariants/true-claims.ts';
import { letRolloutGoOn, replaceBadCommit } from './work.ts';
import { conditionOf, type Resource } from './world/resource.ts';
import type { World } from './world/world.ts';

/** Ends a wait that hangs; backoffs after a long outage take a minute or two. */
const SETTLE_MS = 240_000;
const LOOK_MS = 500;
/** Minimum time between approvals by users (ms). */
const ORDERS_MS = 2_000;

/** Waits until everything is in sync, which starts the next part. Throws an error with what isn't in sync. */
export async function settle(world: World): Promise<void> {
  const { plane, resources, gateways } = world;
  for (const { path } of resources) await plane.merge(path, { spec: { paused: false } });
  for (const resource of resources) await replaceBadCommit(world, resource);
  const started = Date.now();
  let orderedAt = 0;
  for (;;) {
    const states = await Promise.all(resources.map((resource) => stateOf(world, resource)));
    const open = states.flatMap(({ reason }) => reason ?? []);
    if (open.length === 0) {
      for (const { resource, object } of states)
        resource.intents.settle(shortName(object.status?.target?.ref ?? resource.ref));
      break;
    }
    if (Date.now() - started > SETTLE_MS) throw new Error(`not settled within ${SETTLE_MS} ms:\n${open.join('\n')}`);
    if (Date.now() - orderedAt > ORDERS_MS) {
      for (const { resource, object } of states) if (object.spec.rollout) await letRolloutGoOn(world, resource);
      orderedAt = Date.now();
    }
    await sleep(LOOK_MS);
  }
  for (const gateway of gateways) {
    gateway.isDisturbed = false;
    gateway.drifted.clear();
  }
}

async function stateOf(world: World, resource: Resource) {
  const object = await world.plane.ask<GatewaySync>({ path: resource.path });
  return { resource, object, reason: await whyNot(world, resource, object) };
}

/** Returns why a resource, or one of its gateways, isn't settled. */
async function whyNot(world: World, resource: Resource, object: GatewaySync): Promise<string | undefined> {
  const { metadata, status = {} } = object;
  const say = (what: string) => `${resource.name}: ${what}`;
  const ready = conditionOf(object, 'Ready');
  if (status.observedGeneration !== metadata.generation) return say('an edit has not been seen');
  const unseen = unseenIntent(object);
  if (unseen) return say(unseen);
  const commits = resource.possibleCommits();
  if (!commits.includes(status.lastSyncCommit ?? '')) {
    const refs = resource.intents.possible().join(' or ');
    return say(`follows ${status.target?.ref} (${status.lastSyncCommit}), not ${refs} (${commits.join(', ')})`);
  }
  if (ready?.status !== 'True')
    return say(`not ready: ${ready?.reason}: ${ready?.message} ${status.rollout?.message ?? ''}`);
  const wanted = await wantedOf(resource, object);
  for (const gateway of gatewaysOf(world, resource)) {
    const difference = differenceOf(gateway, wanted, gateway.look());
    if (difference) return say(`${gateway.name}: ${difference}`);
  }
  return undefined;
}

/** Returns an annotation of a request or a push that the status doesn't report with a final outcome. */
function unseenIntent({ metadata, status }: GatewaySync): string | undefined {
  const { annotations = {} } = metadata;
  const { lastRequest, lastPush } = status ?? {};
  const ref = annotations[REQUEST_ANNOTATIONS.requestedRef];
  const pushed = annotations[REQUEST_ANNOTATIONS.pushedRef];
  if (ref !== undefined && lastRequest?.ref !== ref) return `the request for ${ref} has not been seen`;
  if (pushed !== undefined && lastPush?.at !== annotations[REQUEST_ANNOTATIONS.pushedAt])
    return 'a push has not been seen';
  if (lastRequest?.outcome === 'Pending' || lastPush?.outcome === 'Pending') return 'a request or a push is pending';
  return undefined;
}

const shortName = (ref: string) => ref.replace(/^refs\/(heads|tags)\//, '');
