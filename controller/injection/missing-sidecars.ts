import { setTimeout as sleep } from 'node:timers/promises';
import { AGENT_LABEL } from '../../shared/api/names.ts';
import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects, METADATA_LIST } from '../../shared/io/kubernetes/list.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { asksForSidecar, type ObservedPod, podIdentity } from '../watch/observed-pod.ts';
import type { Evictor } from './evictor.ts';
import { listUnmadePods, type UnmadePods } from './unmade-pods.ts';

export interface MissingSidecarsOptions {
  client: KubernetesClient;
  gatewaySyncs: () => Iterable<ObservedGatewaySync>;
  gatewaySync: (key: ObjectKey) => ObservedGatewaySync | undefined;
  /** Pods with the label of injected ones, which users can set as well. */
  labelledPods: () => Iterable<ObservedPod>;
  labelledPod: (key: ObjectKey) => ObservedPod | undefined;
  /** Evicts such pods; undefined if that isn't allowed. */
  evictor: Evictor | undefined;
  /** Enqueues a resource whose missing pods changed. */
  enqueue: (key: ObjectKey) => void;
  log: Logger;
}

const PERIOD_MS = 60_000;
/** Time after the creation of a GatewaySync in which pods are expected, and users look at the status (ms). */
const NEW_MS = 180_000;
const NEW_PERIOD_MS = 3_000;

/** Finds pods without the sidecar, and workloads without their pods, in namespaces with GatewaySyncs: once a minute, and more often if one is new. */
export class MissingSidecars {
  readonly #options: MissingSidecarsOptions;
  readonly #found = new Map<ObjectKey, Found>();

  constructor(options: MissingSidecarsOptions) {
    this.#options = options;
  }

  podsOf(key: ObjectKey): ObservedPod[] {
    return (this.#found.get(key)?.missing ?? []).filter((pod) => this.#isMissing(pod));
  }

  /** Names of the first pods that name a resource, but don't request the sidecar. */
  unaskedOf(key: ObjectKey): string[] {
    return this.#found.get(key)?.unasked ?? [];
  }

  /** Workloads that want pods of a resource without gateways, and can't create them. */
  unmadeOf(key: ObjectKey): string[] {
    return this.#found.get(key)?.unmade ?? [];
  }

  /** Pods without their sidecar, of all resources; 0 on replicas that don't sweep. */
  get count(): number {
    const pods = [...this.#found.keys()].flatMap((key) => this.podsOf(key));
    return new Set(pods.map(({ uid }) => uid)).size;
  }

  /** Sweeps until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    for (let dueAt = performance.now(); !signal.aborted; ) {
      for (const key of this.#found.keys()) if (!this.#options.gatewaySync(key)) this.#found.delete(key);
      const isDue = performance.now() >= dueAt;
      await this.#sweep(isDue ? 0 : Date.now() - NEW_MS, signal);
      if (isDue) dueAt = performance.now() + PERIOD_MS * (0.9 + Math.random() * 0.2);
      // Waits between two sweeps, so that many such namespaces cause little load.
      await sleep(NEW_PERIOD_MS, undefined, { signal }).catch(() => {});
    }
    this.#found.clear();
  }

  /** A pod that was re-created with its sidecar no longer counts. */
  #isMissing({ namespace, name }: ObservedPod): boolean {
    return this.#options.labelledPod(`${namespace}/${name}`)?.sidecar !== 'present';
  }

  /** Sweeps the namespaces in which a GatewaySync was created since a time (ms since the epoch). */
  async #sweep(since: number, signal: AbortSignal): Promise<void> {
    const { client, gatewaySyncs, labelledPods } = this.#options;
    const livePods = Map.groupBy(
      [...labelledPods()].filter(({ live }) => live),
      ({ namespace }) => namespace,
    );
    for (const [namespace, own] of Map.groupBy(gatewaySyncs(), ({ namespace }) => namespace)) {
      if (signal.aborted) return;
      if (!own.some(({ createdAt }) => createdAt >= since)) continue;
      try {
        const names = own.map(({ name }) => name);
        const listed = await listPods(client, { namespace, resources: new Set(names), signal });
        const labelled = livePods.get(namespace) ?? [];
        const withoutSidecar = labelled.filter(({ sidecar }) => sidecar === 'missing');
        // A pod that gets the label in the meantime is in both.
        const pods = new Map([...listed, ...withoutSidecar].map((pod) => [pod.uid, pod]));
        const podsOf = groupByResource(names, [...pods.values()]);
        const gatewaysOf = groupByResource(names, [...labelled, ...listed]);
        const isWithout = names.some((name) => gatewaysOf.get(name)?.length === 0);
        const unmade = isWithout ? await this.#listUnmade(namespace, signal) : [];
        const unmadeOf = unmade && groupWorkloads(names, unmade);
        for (const { name, spec } of own) {
          const key = `${namespace}/${name}`;
          const { missing = [], unasked = [] } = Object.groupBy(podsOf.get(name) ?? [], ({ sidecar }) => sidecar);
          this.#store(key, {
            missing,
            unasked: unasked.slice(0, MAX_LISTED).map((pod) => pod.name),
            unmade: unmadeOf ? (unmadeOf.get(name) ?? []) : this.unmadeOf(key),
          });
          if (!spec.paused) await this.#options.evictor?.evictSome(key, missing, signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        this.#options.log.warn({ err: error, namespace }, 'failed to list pods without a sidecar');
      }
    }
  }

  /** Returns undefined if it fails: a missing permission for workloads must not hide pods without the sidecar. */
  async #listUnmade(namespace: string, signal: AbortSignal): Promise<UnmadePods[] | undefined> {
    try {
      return await listUnmadePods(this.#options.client, namespace, signal);
    } catch (error) {
      if (!signal.aborted) this.#options.log.warn({ err: error, namespace }, 'failed to list workloads without pods');
      return undefined;
    }
  }

  #store(key: ObjectKey, found: Found): void {
    const before = changeKeyOf({
      missing: this.podsOf(key),
      unasked: this.unaskedOf(key),
      unmade: this.unmadeOf(key),
    });
    if (found.missing.length + found.unasked.length + found.unmade.length > 0) this.#found.set(key, found);
    else this.#found.delete(key);
    if (before !== changeKeyOf(found)) this.#options.enqueue(key);
  }
}

/** Result of the last sweep for a resource. */
interface Found {
  missing: ObservedPod[];
  /** Names of the first pods that name the resource and don't request the sidecar. */
  unasked: string[];
  /** The first workloads whose pods don't exist. */
  unmade: string[];
}

/** Groups the pods of a namespace by resource: the one that they name, or the only one if they name none. */
export function groupByResource<T extends { crName: string | undefined }>(
  resources: string[],
  pods: T[],
): Map<string, T[]> {
  const only = resources.length === 1 ? resources[0] : undefined;
  const named = Map.groupBy(pods, ({ crName }) => crName ?? only);
  return new Map(resources.map((name) => [name, named.get(name) ?? []]));
}

/**
 * Groups the descriptions of the first workloads by resource. A workload that names none, or one that isn't in the
 * namespace, counts for all of them, as a denied pod does.
 */
export function groupWorkloads(resources: string[], workloads: UnmadePods[]): Map<string, string[]> {
  const known = new Set<string | undefined>(resources);
  const named = Map.groupBy(workloads, ({ crName }) => (known.has(crName) ? crName : undefined));
  const listed = (name?: string) => (named.get(name) ?? []).slice(0, MAX_LISTED).map(({ description }) => description);
  const shared = listed();
  return new Map(resources.map((name) => [name, [...listed(name), ...shared].slice(0, MAX_LISTED)]));
}

const changeKeyOf = ({ missing, unasked, unmade }: Found): string =>
  [...missing.map(({ uid }) => uid).sort(), '', ...unasked, '', ...unmade].join();

interface PodMetadata {
  metadata: ObjectMeta;
}

const PAGE = 100;
/** Terminated pods need no sidecar. */
const RUNNING = 'status.phase!=Succeeded,status.phase!=Failed';

/** Maximum number of pods or workloads in a message. */
const MAX_LISTED = 3;

/** Lists the pods without a sidecar that request one, or name a resource of the namespace: metadata only, in pages. */
async function listPods(
  client: KubernetesClient,
  { namespace, resources, signal }: { namespace: string; resources: ReadonlySet<string>; signal: AbortSignal },
): Promise<ObservedPod[]> {
  const found: ObservedPod[] = [];
  const query = { labelSelector: `${AGENT_LABEL}!=true`, fieldSelector: RUNNING };
  await listObjects<PodMetadata>(
    client,
    corePath('pods', namespace),
    { query, accept: METADATA_LIST, pageSize: PAGE, signal },
    ({ metadata }) => {
      if (metadata.deletionTimestamp !== undefined) return;
      const identity = podIdentity(metadata);
      const sidecar = asksForSidecar({ metadata }) ? 'missing' : 'unasked';
      if (sidecar === 'unasked' && !resources.has(identity.crName ?? '')) return;
      const ownerUid = metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
      found.push({ ...identity, ownerUid, serviceAccountName: 'default', sidecar, live: true });
    },
  );
  return found;
}
