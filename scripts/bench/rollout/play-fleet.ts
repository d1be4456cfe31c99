import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { API_VERSION, SYNC_REPORT } from '../../../shared/api/group.ts';
import { AGENT_CONTAINER, AGENT_KNOWS_ROLLOUTS, AGENT_LABEL, POD_ANNOTATIONS } from '../../../shared/api/names.ts';
import { fittingWaves, isWithin, rolloutKey, waveOf } from '../../../shared/domain/waves.ts';
import { isApiError } from '../../../shared/io/kubernetes/api-error.ts';
import { Reflector } from '../../../shared/io/kubernetes/reflector.ts';
import { corePath, gatewaySyncPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../../shared/log.ts';
import { NAMESPACE, type World } from '../agent/world.ts';
import { inParallel } from '../controller/world.ts';

const LANES = 32;
/** Reports that are written at once. */
const WRITERS = 8;

/** A gateway of which there is only the pod. */
interface Played {
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** Rollout and release that it reported, or is about to. */
  reported: string | undefined;
}

/** Gateways whose agents are played: each reports the release that the status lets it have. */
export interface PlayedFleet {
  /** The resource as the watch brought it last. */
  latest(): GatewaySync | undefined;
  stop(): void;
}

interface FleetOptions {
  /** Name of the GatewaySync. */
  resource: string;
  count: number;
  labelsOf: (index: number) => Record<string, string>;
  /** Milliseconds that an agent takes at most until it reports. */
  slownessMs: number;
}

/** Creates the pods, each ready, and plays their agents until it is stopped. */
export async function playFleet(
  world: World,
  { resource, count, labelsOf, slownessMs }: FleetOptions,
): Promise<PlayedFleet> {
  const fleet: Played[] = [];
  await inParallel(count, LANES, async (index) => {
    const [name, labels] = [`${resource}-${index}`, labelsOf(index)];
    fleet.push({ name, labels, uid: await createReadyPod(world, { name, labels, resource }), reported: undefined });
  });
  let latest: GatewaySync | undefined;
  const due: Due[] = [];
  const reflector = new Reflector<GatewaySync, GatewaySync>({
    client: world.client,
    path: gatewaySyncPath(NAMESPACE),
    fieldSelector: `metadata.name=${resource}`,
    project: (object) => object,
    onChange: (change) => {
      if (change.type !== 'upserted') return;
      latest = change.object;
      for (const gateway of fleet) {
        const status = reportOf(gateway, change.object);
        if (!status) continue;
        gateway.reported = JSON.stringify(status);
        due.push({ gateway, status, at: performance.now() + Math.random() * slownessMs });
      }
    },
    log: createLogger('bench', { level: 'silent' }),
  });
  const ending = new AbortController();
  void reflector.run(ending.signal);
  for (let lane = 0; lane < WRITERS; lane += 1) void writeAll(world, due, ending.signal);
  await reflector.firstSync;
  return { latest: () => latest, stop: () => ending.abort() };
}

/** A report that is to be written. */
interface Due {
  gateway: Played;
  status: object;
  /** By the monotonic clock, in milliseconds. */
  at: number;
}

async function writeAll(world: World, due: Due[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const now = performance.now();
    const index = due.findIndex(({ at }) => at <= now);
    const [next] = index === -1 ? [] : due.splice(index, 1);
    if (!next) await sleep(10);
    else if (next.gateway.reported === JSON.stringify(next.status))
      await write(world, next).catch(() => sleep(10).then(() => due.push(next)));
  }
}

interface NewPod {
  name: string;
  labels: Record<string, string>;
  resource: string;
}

async function createReadyPod({ client }: World, { name, labels, resource }: NewPod): Promise<string> {
  const { metadata } = await client.create<{ metadata: { uid: string } }>(corePath('pods', NAMESPACE), {
    metadata: {
      name,
      labels: { ...labels, [AGENT_LABEL]: 'true' },
      annotations: { [POD_ANNOTATIONS.inject]: 'true', [POD_ANNOTATIONS.crName]: resource },
    },
    spec: {
      containers: [{ name: 'gateway', image: 'gateway:1' }],
      initContainers: [{ name: AGENT_CONTAINER, image: 'agent:1', restartPolicy: 'Always' }],
    },
  });
  await markReady({ client }, NAMESPACE, name);
  return metadata.uid;
}

/** Says of a pod what its kubelet would. */
export async function markReady({ client }: Pick<World, 'client'>, namespace: string, name: string): Promise<void> {
  const status = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
  await client.mergePatch(`${corePath('pods', namespace, name)}/status`, { status });
}

/** What an agent says of the release that it may have; undefined where it has said so. */
function reportOf(
  { name, uid, labels, reported }: Played,
  { metadata, spec, status }: GatewaySync,
): object | undefined {
  const { rollout, observedGeneration } = status ?? {};
  if (!rollout || observedGeneration !== metadata.generation) return undefined;
  const key = rolloutKey(name, name);
  const fits = fittingWaves(spec.rollout?.waves ?? [], new Map(Object.entries(labels)));
  const isAdmitted = isWithin(key, rollout.admission[waveOf(fits, key, rollout.admission)]?.admitted ?? '');
  const isTold = isAdmitted || rollout.phase === 'RollingBack';
  const report = {
    ...{ podUID: uid, state: 'Synced', agentVersion: AGENT_KNOWS_ROLLOUTS, generation: metadata.generation },
    commit: isAdmitted ? rollout.commit : rollout.stableCommit,
    revision: isAdmitted ? rollout.revision : rollout.stableRevision,
    ...(isTold && { rollout: rollout.number }),
  };
  return JSON.stringify(report) === reported ? undefined : report;
}

async function write({ client }: World, { gateway: { name, uid }, status }: Due): Promise<void> {
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name, uid }];
  const body = { apiVersion: API_VERSION, kind: SYNC_REPORT.kind, metadata: { name, ownerReferences }, status };
  try {
    await client.mergePatch(syncReportPath(NAMESPACE, name), body);
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await client.create(syncReportPath(NAMESPACE), body);
  }
}
