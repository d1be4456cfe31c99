import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { Reflector } from '../../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { watch } from '../../../shared/io/kubernetes/watch.ts';
import { createLogger } from '../../../shared/log.ts';
import { clientOf } from '../../testbed/client-of.ts';
import type { Size, World } from './world.ts';

/** Watches idle for as long as nobody touches their resource. */
const IDLE_MS = 3_600_000;

/** All resources as a watch brought them last. */
export type Mirror = Reflector<GatewaySync, GatewaySync>;

/** Watches all resources until the signal aborts. */
export async function mirrorResources(
  { client }: World,
  onResource: (resource: GatewaySync) => void,
  signal: AbortSignal,
): Promise<Mirror> {
  const mirror: Mirror = new Reflector<GatewaySync, GatewaySync>({
    client,
    path: gatewaySyncPath(),
    pageSize: 500,
    project: (object) => object,
    onChange: (change) => change.type === 'upserted' && onResource(change.object),
    log: createLogger('bench', { level: 'silent' }),
  });
  void mirror.run(signal);
  await mirror.firstSync;
  return mirror;
}

/** Waits until every resource has its commit and all its gateways are in line with it, or the time is over. */
export async function untilSettled(
  size: Pick<Size, 'resources' | 'pods'>,
  { store }: Mirror,
  withinMs: number,
): Promise<void> {
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await sleep(100)) {
    let [resolved, synced, gateways] = [0, 0, 0];
    for (const { metadata, status } of store.values()) {
      const isCurrent = status?.observedGeneration === metadata.generation;
      if (isCurrent && status?.lastSyncCommit !== undefined) resolved += 1;
      synced += status?.gateways?.synced ?? 0;
      gateways += status?.gateways?.total ?? 0;
    }
    if (resolved === size.resources && synced === size.pods && gateways === size.pods) return;
  }
  console.error(`not settled within ${withinMs / 1000} s`);
}

/** Opens watches of one resource each, as agents hold them; resolves when all are open. */
export async function openWatches({ cluster, resources, size }: World, signal: AbortSignal): Promise<void> {
  const client = clientOf(cluster.kubeconfig, { userAgent: 'bench-agents' });
  for (let number = 0; number < size.watches; number += 1) {
    const { namespace = '', name = '' } = resources[number % resources.length] ?? {};
    const events = watch(client, gatewaySyncPath(namespace), {
      query: { fieldSelector: `metadata.name=${name}` },
      signal,
      idleTimeoutMs: IDLE_MS,
    });
    // The first event says what there is.
    await events.next();
    void drain(events, signal);
  }
}

async function drain(events: AsyncIterable<unknown>, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of events);
  } catch (error) {
    if (!signal.aborted) console.error('a watch ended:', error);
  }
}
